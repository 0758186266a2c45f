// A store for ranks that are threads: a map.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/distributed/store.h"

namespace switchyard::test {

// It knows which ranks will never set anything: nobody waits for a word of theirs.
class MapStore final : public distributed::Store {
public:
    explicit MapStore(std::vector<std::int64_t> gone = {}) : gone_(std::move(gone)) {}
    void set(const std::string& key, const std::string& value) override {
        const std::lock_guard lock(mutex_);
        values_[key] = value;
        changed_.notify_all();
    }
    std::optional<std::string> get(const std::string& key) override {
        const std::lock_guard lock(mutex_);
        const auto found = values_.find(key);
        return found == values_.end() ? std::nullopt : std::optional(found->second);
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        const std::lock_guard lock(mutex_);
        return counts_[key] += amount;
    }
    bool wait(const std::vector<std::string>& keys, double seconds) override {
        if (std::ranges::any_of(keys, [&](const auto& key) { return is_of_gone(key); })) return false;
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] {
            return std::ranges::all_of(keys, [&](const auto& key) { return values_.contains(key); });
        });
    }

private:
    bool is_of_gone(const std::string& key) const {
        return std::ranges::any_of(gone_,
                                   [&](auto rank) { return key.ends_with("/" + std::to_string(rank)); });
    }

    std::vector<std::int64_t> gone_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::string> values_;
    std::map<std::string, std::int64_t> counts_;
};

}  // namespace switchyard::test

// c10d's store as one of ours. For c10d.cpp alone, which includes c10d's headers before it.
//
// c10d waits without end for an answer of whoever serves the store, and where that process was stopped, or
// its machine went away, none comes. So a question is asked on a thread of its own, and given up on.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <c10/util/Exception.h>

#include "core/kernel/base/number_text.h"
#include "core/workbench/distributed/call_thread.h"
#include "core/workbench/distributed/store.h"
#include "core/workbench/distributed/together.h"

namespace switchyard::distributed {

inline std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(std::max<std::int64_t>(1, static_cast<std::int64_t>(seconds * 1000.0)));
}

// Without where in LibTorch it was thrown.
inline std::string first_line(const std::exception& error) {
    const auto* const ours = dynamic_cast<const c10::Error*>(&error);
    const std::string text = ours != nullptr ? ours->what_without_backtrace() : error.what();
    return text.substr(0, text.find('\n'));
}

// What `question` returns, asked on that thread. Throws StoreGone where it throws, or does not return.
template <class Question>
std::invoke_result_t<Question> answer_within(CallThread& calls, double seconds, Question question) {
    struct Told {
        std::invoke_result_t<Question> answer{};
        std::optional<std::string> problem;
    };
    const auto told = std::make_shared<Told>();  // which a question that is given up on still needs
    const bool answered = calls.returns_within(seconds, [told, question = std::move(question)] {
        try {
            told->answer = question();
        } catch (const std::exception& error) {
            told->problem = first_line(error);
        }
    });
    if (!answered) throw StoreGone("no answer within " + base::digits(seconds) + " s");
    if (told->problem) throw StoreGone(*told->problem);
    return std::move(told->answer);
}

class C10dStore final : public Store {
public:
    // `patience`: seconds that an answer may take.
    C10dStore(c10::intrusive_ptr<c10d::Store> store, double patience)
        : store_(std::move(store)), patience_(patience) {}

    void set(const std::string& key, const std::string& value) override {
        const std::vector<std::uint8_t> bytes(value.begin(), value.end());
        asked(patience_, [store = store_, key, bytes] {
            store->set(key, bytes);
            return true;
        });
    }
    std::optional<std::string> get(const std::string& key) override {
        return asked(patience_, [store = store_, key]() -> std::optional<std::string> {
            if (!store->check({key})) return std::nullopt;
            const auto bytes = store->get(key);
            return std::string(bytes.begin(), bytes.end());
        });
    }
    std::int64_t add(const std::string& key, std::int64_t amount) override {
        return asked(patience_, [store = store_, key, amount] { return store->add(key, amount); });
    }
    bool wait(const std::vector<std::string>& keys, double seconds) override {
        if (keys.empty()) return true;
        return asked(std::max(patience_, 2.0 * seconds), [store = store_, keys, seconds] {
            if (store->check(keys)) return true;
            if (seconds <= 0.0) return false;
            try {
                store->wait(keys, milliseconds(seconds));
                return true;
            } catch (const std::exception&) {
                return store->check(keys);  // throws if it is not only late
            }
        });
    }
    const c10::intrusive_ptr<c10d::Store>& c10d() const { return store_; }

private:
    template <class Question>
    std::invoke_result_t<Question> asked(double seconds, Question question) {
        return answer_within(calls_, seconds, std::move(question));
    }

    c10::intrusive_ptr<c10d::Store> store_;
    double patience_;
    CallThread calls_;
};

}  // namespace switchyard::distributed

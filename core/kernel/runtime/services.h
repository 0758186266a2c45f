// What the core does for a plugin (SwitchyardServices of plugin_abi.h), and the counting behind `executed`.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include <switchyard/interfaces/plugin_abi.h>

namespace switchyard::runtime {

// The token of one binding: how often which variant of its component ran, counted where a kernel runs. Any
// thread may count and read.
class ExecutionCounter {
public:
    ExecutionCounter() = default;
    ExecutionCounter(const ExecutionCounter&) = delete;
    ExecutionCounter& operator=(const ExecutionCounter&) = delete;

    // `variant` must live as long as the counter. No lock as long as few different texts are used.
    void count(const char* variant) noexcept;

    // By variant; "" where a component has none.
    std::map<std::string, std::uint64_t> calls() const;
    std::uint64_t total() const;
    void reset();

private:
    struct Slot {
        std::atomic<const char*> variant{nullptr};
        std::atomic<std::uint64_t> calls{0};
    };
    std::array<Slot, 8> slots_;
    mutable std::mutex mutex_;
    std::map<std::string, std::uint64_t> overflow_;
};

// The table that every plugin gets. Valid for the life of the process.
const SwitchyardServices* services() noexcept;

}  // namespace switchyard::runtime

#include "core/kernel/runtime/services.h"

#include <algorithm>
#include <string>

#include "core/kernel/base/log.h"

namespace switchyard::runtime {
namespace {

void count_execution(void* token, const char* variant) {
    if (token != nullptr) static_cast<ExecutionCounter*>(token)->count(variant);
}

void write_log(int level, const char* plugin, const char* text) {
    const auto known = static_cast<log::Level>(std::clamp(level, 0, 3));
    log::write(known,
               std::string(plugin == nullptr ? "a plugin" : plugin) + ": " + (text == nullptr ? "" : text));
}

constexpr SwitchyardServices table{sizeof(SwitchyardServices), count_execution, write_log};

}  // namespace

const SwitchyardServices* services() noexcept { return &table; }

void ExecutionCounter::count(const char* variant) noexcept {
    if (variant == nullptr) variant = "";
    for (Slot& slot : slots_) {
        const char* known = slot.variant.load(std::memory_order_relaxed);
        if (known == nullptr && slot.variant.compare_exchange_strong(known, variant)) known = variant;
        if (known == variant) {
            slot.calls.fetch_add(1, std::memory_order_relaxed);
            return;
        }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++overflow_[variant];
}

std::map<std::string, std::uint64_t> ExecutionCounter::calls() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::map<std::string, std::uint64_t> result = overflow_;
    for (const Slot& slot : slots_) {
        const std::uint64_t count = slot.calls.load(std::memory_order_relaxed);
        if (count > 0) result[slot.variant.load(std::memory_order_relaxed)] += count;
    }
    return result;
}

std::uint64_t ExecutionCounter::total() const {
    std::uint64_t sum = 0;
    for (const auto& [variant, count] : calls()) sum += count;
    return sum;
}

void ExecutionCounter::reset() {
    const std::lock_guard<std::mutex> lock(mutex_);
    overflow_.clear();
    for (Slot& slot : slots_) slot.calls.store(0, std::memory_order_relaxed);
}

}  // namespace switchyard::runtime

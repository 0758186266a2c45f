#include "core/workbench/profile/memory_recorder.h"

#include <chrono>
#include <mutex>
#include <utility>

#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>

namespace switchyard::profile {
namespace {

std::uint64_t address_of(const at::Tensor& tensor) {
    return reinterpret_cast<std::uintptr_t>(tensor.storage().data());
}

}  // namespace

class MemoryRecorder::Report final : public c10::MemoryReportingInfoBase {
public:
    Report(const Recorder& recorder, c10::Device device) : recorder_(recorder), device_(device) {
        recording.events.reserve(std::size_t{1} << 14);
    }

    void reportMemoryUsage(void* ptr, std::int64_t alloc_size, std::size_t total_allocated, std::size_t,
                           c10::Device device) override {
        if (device.type() != device_.type()) return;
        const auto at = std::chrono::duration_cast<std::chrono::nanoseconds>(
                            std::chrono::steady_clock::now().time_since_epoch())
                            .count();
        const std::lock_guard<std::mutex> lock(mutex);
        recording.events.push_back({at, reinterpret_cast<std::uintptr_t>(ptr), alloc_size,
                                    static_cast<std::int64_t>(total_allocated), recorder_.current()});
    }
    bool memoryProfilingEnabled() const override { return true; }

    std::mutex mutex;
    MemoryRecording recording;

private:
    const Recorder& recorder_;
    c10::Device device_;
};

struct MemoryRecorder::Guard {
    explicit Guard(std::shared_ptr<Report> report)
        : reporting(c10::DebugInfoKind::PROFILER_STATE, std::move(report)) {}
    c10::DebugInfoGuard reporting;
};

MemoryRecorder::MemoryRecorder(const Recorder& recorder, c10::Device device, std::int64_t live)
    : report_(std::make_shared<Report>(recorder, device)), guard_(std::make_unique<Guard>(report_)) {
    report_->recording.live_before = live;
}
MemoryRecorder::~MemoryRecorder() = default;

void MemoryRecorder::know(const at::Tensor& tensor, MemoryClass is) {
    if (!tensor.defined() || !tensor.has_storage() || tensor.storage().data() == nullptr) return;
    auto& known = report_->recording.known;
    const auto address = address_of(tensor);
    for (const auto& one : known) {
        if (one.first == address) return;
    }
    known.push_back({address, {is, static_cast<std::int64_t>(tensor.storage().nbytes())}});
}

void MemoryRecorder::gradients(std::span<const at::Tensor> gradients) {
    const std::lock_guard<std::mutex> lock(report_->mutex);
    for (const auto& gradient : gradients) {
        if (gradient.defined() && gradient.has_storage())
            report_->recording.gradients.insert(address_of(gradient));
    }
    report_->recording.at_gradients = report_->recording.events.size();
}

MemoryRecording MemoryRecorder::take() {
    const std::lock_guard<std::mutex> lock(report_->mutex);
    return std::exchange(report_->recording, {});
}

}  // namespace switchyard::profile

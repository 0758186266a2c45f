// Writes down each tensor's memory that is asked for and given back while it lives, with the event of a
// recorder in which that happens: by the interface through which LibTorch's allocators, and the core's own
// for the CPU, report to whoever profiles (c10::MemoryReportingInfoBase). Of the thread that it was made on,
// and of those that autograd uses for it.
#pragma once

#include <memory>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/profile/recorder.h"

namespace switchyard::profile {

class MemoryRecorder {
public:
    // `live`: bytes of all tensors on the device now.
    MemoryRecorder(const Recorder& recorder, c10::Device device, std::int64_t live);
    ~MemoryRecorder();
    MemoryRecorder(const MemoryRecorder&) = delete;
    MemoryRecorder& operator=(const MemoryRecorder&) = delete;

    // Before the step: what a tensor that is there is for. The first word holds.
    void know(const at::Tensor& tensor, MemoryClass is);
    // When backward has ended.
    void gradients(std::span<const at::Tensor> gradients);

    MemoryRecording take();

private:
    class Report;
    std::shared_ptr<Report> report_;
    struct Guard;
    std::unique_ptr<Guard> guard_;
};

}  // namespace switchyard::profile

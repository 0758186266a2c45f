// Times work on a CUDA device by its events, and loads the components that are timed.
#pragma once

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "core/kernel/loader/discovery.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/libtorch_cuda.h"
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/kernel/runtime/services.h"

namespace switchyard::gpu {

inline void check(cudaError_t status) {
    if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}

class Event {
public:
    Event() { check(cudaEventCreate(&event_)); }
    ~Event() { cudaEventDestroy(event_); }
    Event(const Event&) = delete;
    Event& operator=(const Event&) = delete;
    void record() { check(cudaEventRecord(event_, c10::cuda::getCurrentCUDAStream().stream())); }
    double milliseconds_since(const Event& begin) const {
        check(cudaEventSynchronize(event_));
        float ms = 0.0F;
        check(cudaEventElapsedTime(&ms, begin.event_, event_));
        return ms;
    }

private:
    cudaEvent_t event_ = nullptr;
};

inline double time_once(const std::function<void()>& call) {
    Event begin, end;
    begin.record();
    call();
    end.record();
    return end.milliseconds_since(begin);
}

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// This machine with its device. Throws where it has none.
inline HostInfo host_with_device() {
    if (const auto error = machine::load_libtorch_cuda(); !error.empty()) throw std::runtime_error(error);
    HostInfo host = machine::this_host(machine::Look::with_devices);
    if (host.first(Device::cuda) == nullptr) throw std::runtime_error("this machine has no CUDA device");
    return host;
}

inline runtime::Registry plugin_at(const std::string& library, const HostInfo& host) {
    loader::DiscoveryOptions options;
    options.run_probes = false;
    options.path.entries = {{library, "given", true}};
    return runtime::Registry(loader::discover(options, host));
}

inline runtime::LoadedComponent component_of(runtime::Registry& registry, Kind kind, const std::string& id) {
    for (const auto& record : registry.records()) {
        for (const auto& one : registry.load(record)) {
            if (one.manifest->kind == kind && one.manifest->id == id) return one;
        }
        if (const auto* failure = record.failure()) throw std::runtime_error(failure->reason);
    }
    throw std::runtime_error("there is no " + id + " of the kind asked for in this library");
}

}  // namespace switchyard::gpu

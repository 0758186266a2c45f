// What a host can do, as plain data: this machine, or one that is only described (`--host h100`), so that a
// plan for a GPU host can be made and explained on a laptop. Filled by core/kernel/machine; plugins read it
// in `supports` and never probe on their own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard {

struct DeviceInfo {
    Device device = Device::cuda;
    int index = 0;
    std::string name;            // "NVIDIA H100 80GB HBM3"
    int compute_capability = 0;  // 10 * major + minor: 80, 90, ...
    std::int64_t memory_bytes = 0;
    int multiprocessors = 0;
    std::int64_t shared_memory_per_block_bytes = 0;  // the opt-in maximum
};

struct HostInfo {
    std::string name;        // "this host", or the name of the description
    bool described = false;  // true: not the machine that runs this
    std::string cpu_model;
    int cores = 1;  // usable by this process
    // Sorted, Linux's names: "avx2", "avx512f", "avx512_bf16", "amx_bf16", ...
    std::vector<std::string> cpu_features;
    std::int64_t l2_bytes = 0;  // per core
    std::int64_t l3_bytes = 0;  // the largest that one core sees
    std::int64_t memory_bytes = 0;
    std::string libtorch_version;     // "2.11.0"
    std::vector<DeviceInfo> devices;  // accelerators only; the CPU is always there

    bool has_cpu_feature(const std::string& feature) const {
        for (const auto& candidate : cpu_features) {
            if (candidate == feature) return true;
        }
        return false;
    }
    // The first accelerator of that type, or nullptr.
    const DeviceInfo* first(Device device) const {
        for (const auto& candidate : devices) {
            if (candidate.device == device) return &candidate;
        }
        return nullptr;
    }
};

}  // namespace switchyard

// Where LibTorch's products of 16-bit floats are slow, for components that leave them to it.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/request.h>

namespace switchyard {

// Whether LibTorch multiplies numbers of the request's dtype one by one on its host: on an x86-64 CPU that
// has no instructions by which oneDNN multiplies them (its avx512_core for bfloat16, avx512_core_fp16 for
// float16, avx2_vnni_2 for both: oneDNN's developer guide, "CPU Dispatcher Control").
inline bool libtorch_multiplies_one_by_one(const CreateInfo& info) {
    if (info.host == nullptr || info.request->device != Device::cpu) return false;
    const HostInfo& host = *info.host;
    if (!host.has_cpu_feature("avx2") || host.has_cpu_feature("avx_ne_convert")) return false;
    if (info.request->dtype == DType::float16) return !host.has_cpu_feature("avx512_fp16");
    return info.request->dtype == DType::bfloat16 && !host.has_cpu_feature("avx512bw");
}

// What such a component answers to slow_here_property (component_property.h): empty where it is not slow.
// `how_slowly`: "5 times as slowly as float32 or more"; `setting`: what to set instead.
inline std::string slow_libtorch_products(const CreateInfo& info, std::string_view how_slowly,
                                          std::string_view setting) {
    if (!libtorch_multiplies_one_by_one(info)) return "";
    return "LibTorch multiplies numbers of 16 bits one by one on this processor, " + std::string(how_slowly) +
           "; set " + std::string(setting) + ", or compute in float32";
}

}  // namespace switchyard

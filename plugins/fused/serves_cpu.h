// What all components here ask of a request: the CPU, and a dtype that their kernels store. Included by sources that define `supports`.
#pragma once

#include <switchyard/sdk/serves.h>

namespace switchyard {

inline void require_cpu_storage(Verdict& verdict, const Request& request) {
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
}

}  // namespace switchyard

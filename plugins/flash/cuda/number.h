// The element types that kernels read and write. No LibTorch here: c10::BFloat16 and c10::Half have the same bits.
#pragma once

#include <switchyard/sdk/device_launch.h>

namespace switchyard::flash_cuda {

using switchyard::device::Bf16;
using switchyard::device::Fp16;

}  // namespace switchyard::flash_cuda

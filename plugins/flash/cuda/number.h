// The element types that kernels read and write. No LibTorch here: c10::BFloat16 and c10::Half have the same bits.
#pragma once

#include <cstdint>

namespace switchyard::flash_cuda {

struct Bf16 {
    std::uint16_t bits = 0;
};

struct Fp16 {
    std::uint16_t bits = 0;
};

}  // namespace switchyard::flash_cuda

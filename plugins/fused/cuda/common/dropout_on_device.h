// Dropout of hidden states for the kernels here: the numbers of <switchyard/interfaces/dropout.h>, by the
// position of a value in its sequence.
#pragma once

#include <cstdint>

namespace switchyard::fused_cuda {

struct DropoutOnDevice {
    std::uint64_t seed = 0;
    std::uint32_t threshold = 0;  // 0: no dropout
    std::uint32_t first_document = 0;
    float keep_scale = 1.0F;
    std::int64_t sequence = 1;                 // padded: rows of one
    const std::int32_t* cu_seqlens = nullptr;  // packed: on the device, `sequences` + 1; else nullptr
    std::int64_t sequences = 0;
};

}  // namespace switchyard::fused_cuda

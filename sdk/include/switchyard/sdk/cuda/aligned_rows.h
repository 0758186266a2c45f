// Tensors of 16-bit values as kernels of tensor cores read them: 16 bytes at a time.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard {

// A dense last dimension, and rows that begin at multiples of 16 bytes. What is broadcast may be.
inline bool has_aligned_rows(const at::Tensor& x) {
    if (x.numel() == 0) return true;
    if (x.stride(-1) != 1 || reinterpret_cast<std::uintptr_t>(x.const_data_ptr()) % 16 != 0) return false;
    for (std::int64_t i = 0; i + 1 < x.dim(); ++i) {
        if (x.size(i) > 1 && x.stride(i) * x.element_size() % 16 != 0) return false;
    }
    return true;
}

// `x`, or a dense copy. Autograd follows it.
inline at::Tensor with_aligned_rows(const at::Tensor& x) {
    return has_aligned_rows(x) ? x : x.clone(at::MemoryFormat::Contiguous);
}

}  // namespace switchyard

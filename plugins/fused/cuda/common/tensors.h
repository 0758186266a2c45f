// Tensors as the kernels here take them.
#pragma once

#include <initializer_list>
#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/tokens.h>

#include "dropout_on_device.h"
#include "vector.h"

namespace switchyard::fused_cuda {

inline device::Storage storage_of(at::ScalarType type) {
    if (type == at::kFloat) return device::Storage::float32;
    if (type == at::kBFloat16) return device::Storage::bf16;
    if (type == at::kHalf) return device::Storage::fp16;
    throw std::invalid_argument("fused on cuda: expected float32, bfloat16 or float16");
}

inline at::Tensor dense(const at::Tensor& x) { return x.defined() ? x.contiguous() : x; }

// Dense, in a type that kernels read.
inline at::Tensor parameter(const at::Tensor& given) {
    if (!given.defined()) return given;
    const bool is_read = given.scalar_type() == at::kBFloat16 || given.scalar_type() == at::kHalf;
    return is_read ? given.contiguous() : given.to(at::kFloat).contiguous();
}
inline Vector vector_of(const at::Tensor& parameter) {
    if (!parameter.defined()) return {};
    return {parameter.const_data_ptr(), storage_of(parameter.scalar_type())};
}

inline const void* data_of(const at::Tensor& x) { return x.defined() ? x.const_data_ptr() : nullptr; }
inline void* mutable_data_of(const at::Tensor& x) { return x.defined() ? x.mutable_data_ptr() : nullptr; }

// All begin at multiples of 16 bytes.
inline bool all_aligned(std::initializer_list<const void*> places) {
    std::uintptr_t all = 0;
    for (const void* place : places) all |= reinterpret_cast<std::uintptr_t>(place);
    return all % 16 == 0;
}

// `offsets` keeps cu_seqlens alive. x: [batch, seq, width] or [total, width].
inline DropoutOnDevice dropout_of(const Dropout& dropout, const Tokens& tokens, const at::Tensor& x,
                                  at::Tensor& offsets) {
    DropoutOnDevice on_device;
    if (!dropout.active()) return on_device;
    on_device.seed = dropout.seed;
    on_device.threshold = dropout.threshold();
    on_device.keep_scale = static_cast<float>(dropout.keep_scale());
    on_device.first_document = static_cast<std::uint32_t>(tokens.first_document);
    if (tokens.layout == Layout::padded) {
        if (x.dim() != 3) throw std::invalid_argument("dropout of padded tokens needs [batch, seq, width]");
        on_device.sequence = x.size(1);
        return on_device;
    }
    offsets = tokens.cu_seqlens.to(x.device(), at::kInt).contiguous();
    on_device.cu_seqlens = offsets.const_data_ptr<std::int32_t>();
    on_device.sequences = offsets.numel() - 1;
    return on_device;
}

}  // namespace switchyard::fused_cuda

// What tells a model the order of its tokens, apart from learned tables.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/model_config.h"

namespace switchyard::model {

// Fixed sines and cosines, float32 [positions, width], sine and cosine alternating (Vaswani et al. 2017,
// section 3.5).
at::Tensor sinusoidal_table(std::int64_t positions, std::int64_t width);

// Slopes of ALiBi, float32 [heads]: 2^(-8 i / n) for the largest power of two n <= heads, the rest from the
// odd steps of 2n (Press et al. 2022, arXiv:2108.12409, and the authors' code for other counts).
at::Tensor alibi_slopes(std::int64_t heads);

// Rotary embeddings (Su et al. 2021, arXiv:2104.09864) in Llama's arrangement: dimension i turns with
// dimension i + head_dim / 2.
struct Rotary {
    at::Tensor cos;  // float32 [positions, head_dim]
    at::Tensor sin;
};
// Radians a position, float64 [head_dim / 2], scaled as the model says.
at::Tensor rotary_frequencies(const config::ModelConfig& model);
// Of all positions that the model has.
Rotary rotary_table(const config::ModelConfig& model);

// x [..., tokens, head_dim] with the positions' rows of the table, broadcast over leading dimensions.
// Computed in float32, returned in x's dtype.
at::Tensor rotate(const at::Tensor& x, const at::Tensor& cos, const at::Tensor& sin);

}  // namespace switchyard::model

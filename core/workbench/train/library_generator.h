// LibTorch's own generator on the CPU, for components that drop by it; the core's dropout needs none.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard::train {

at::Tensor generator_state();
void seed_generator(std::uint64_t seed);
// Throws std::invalid_argument for what is no such state.
void set_generator_state(const at::Tensor& state);

}  // namespace switchyard::train

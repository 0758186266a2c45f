// What the tests of the reference measure with.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

namespace switchyard::test {

// The largest |a - b| over the largest of |b| and 1; infinity where shapes differ or one is NaN and the other
// is not. Infinities must agree.
double difference(const at::Tensor& a, const at::Tensor& b);

// Normal numbers in float64, the same for the same seed.
at::Tensor normal(at::IntArrayRef sizes, std::int64_t seed);

using Function = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// How far autograd's gradients of `function` are from central differences, along random directions of each
// input by itself, with random weights on the outputs: the largest difference over the largest of the
// derivative and 1. Inputs are float64; undefined ones are passed on.
double gradient_error(const Function& function, const std::vector<at::Tensor>& inputs);

}  // namespace switchyard::test

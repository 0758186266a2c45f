// The zero-power of a matrix - its singular values brought to about 1 - by five quintic Newton-Schulz steps:
// Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks".
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard::fused {

// `norm`: the matrix's Frobenius norm, or something above it. [rows, columns] of float32.
at::Tensor newton_schulz(const at::Tensor& matrix, double norm);

}  // namespace switchyard::fused

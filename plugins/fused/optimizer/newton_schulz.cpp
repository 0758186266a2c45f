#include "newton_schulz.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

namespace switchyard::fused {

at::Tensor newton_schulz(const at::Tensor& matrix, double norm) {
    constexpr double a = 3.4445, b = -4.7750, c = 2.0315;
    const bool tall = matrix.size(0) > matrix.size(1);
    auto x = (tall ? matrix.t() : matrix) * (1.0 / std::max(norm, 1e-7));
    for (int step = 0; step < 5; ++step) {
        const auto gram = at::mm(x, x.t());
        const auto polynomial = at::addmm(gram, gram, gram, b, c);
        x = at::addmm(x, polynomial, x, a, 1.0);
    }
    return tall ? x.t() : x;
}

}  // namespace switchyard::fused

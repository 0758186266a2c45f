#include "core/workbench/model/linear.h"

#include <ATen/ops/add.h>
#include <ATen/ops/mul.h>

namespace switchyard::model {

at::Tensor Linear::product(Phase phase, const at::Tensor& x, const at::Tensor& added) const {
    const auto y = operation[phase]({x, weight, added}, context);
    if (low_rank == nullptr) return y;
    return at::add(y, low_rank->b(phase, at::mul(low_rank->a(phase, x), low_rank->scale)));
}

}  // namespace switchyard::model

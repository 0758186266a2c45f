#include "core/workbench/train/norm_over_ranks.h"

#include <cmath>
#include <limits>

#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

namespace switchyard::train {

double squares_of(const std::vector<at::Tensor>& gradients) {
    double squares = 0.0;
    if (gradients.empty()) return squares;
    for (const auto& norm : at::_foreach_norm(gradients, 2, at::kDouble)) {
        const double one = norm.item<double>();
        squares += one * one;
    }
    return squares;
}

double norm_over_ranks(distributed::Group& ranks, const runtime::OptimizerOp& optimizer,
                       const StepParams& params, const std::function<double()>& squares) {
    const bool looks = params.max_grad_norm > 0.0 || params.grad_scale != 1.0 ||
                       params.grad_scale_tensor.defined() || optimizer.unscales();
    if (!looks) return 0.0;
    const double own = squares();
    const bool finite = std::isfinite(own);
    auto sums = at::zeros({2}, at::kDouble);
    sums.select(0, 0).fill_(finite ? own : 0.0);
    sums.select(0, 1).fill_(finite ? 0.0 : 1.0);
    ranks.sum(sums);
    const auto* const all = sums.const_data_ptr<double>();
    if (all[1] != 0.0) return std::numeric_limits<double>::infinity();
    const double scale =
        params.grad_scale_tensor.defined() ? params.grad_scale_tensor.item<double>() : params.grad_scale;
    return std::sqrt(all[0]) / scale;
}

StepResult without_step(double norm) {
    const auto scalar = [](double value) { return at::full({}, value, at::dtype(at::kFloat)); };
    return {scalar(norm), scalar(1.0)};
}

}  // namespace switchyard::train

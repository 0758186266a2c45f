#include "core/workbench/train/nonfinite.h"

#include <cmath>

#include <ATen/core/Tensor.h>
#include <ATen/ops/isinf.h>
#include <ATen/ops/isnan.h>

namespace switchyard::train {
namespace {

// A sum is not finite if a value is not; so is that of huge values, which the closer look clears.
bool is_finite(const at::Tensor& tensor) {
    const auto dtype = tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    return std::isfinite(tensor.sum(dtype).item<double>()) || tensor.isfinite().all().item<bool>();
}

// An optimizer that clips in place may have made NaN of Inf, so these are not told apart.
std::string how_many(const at::Tensor& gradient) {
    const auto bad = gradient.isfinite().logical_not().sum().item<std::int64_t>();
    return std::to_string(bad) + " of " + std::to_string(gradient.numel()) + " values";
}

}  // namespace

std::string nonfinite_loss(double loss) {
    if (std::isfinite(loss)) return "";
    return std::string("the loss is ") + (std::isnan(loss) ? "nan" : loss > 0 ? "inf" : "-inf");
}

std::string nonfinite_counts(const at::Tensor& tensor) {
    const auto nan = at::isnan(tensor).sum().item<std::int64_t>();
    const auto inf = at::isinf(tensor).sum().item<std::int64_t>();
    std::string text;
    if (nan > 0) text += std::to_string(nan) + " NaN";
    if (inf > 0) text += (nan > 0 ? " and " : "") + std::to_string(inf) + " Inf";
    return text + " of " + std::to_string(tensor.numel()) + " values";
}

std::string nonfinite_gradients(const std::vector<ParameterGroup>& groups) {
    std::int64_t bad = 0, all = 0;
    std::string first;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            if (!parameter.gradient.defined()) continue;
            ++all;
            if (is_finite(parameter.gradient)) continue;
            if (bad++ == 0) first = parameter.name + " (" + how_many(parameter.gradient) + ")";
        }
    }
    if (bad == 0) return "";
    if (bad == 1) return "the gradient of " + first + " is not finite";
    return "the gradients of " + std::to_string(bad) + " of " + std::to_string(all) +
           " parameters are not finite, the first that of " + first;
}

}  // namespace switchyard::train

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

// NaN and Inf are not told apart: an optimizer that has clipped in place, by a norm that is not finite, may
// have made the one of the other.
std::int64_t nonfinite_values(const at::Tensor& gradient) {
    if (!gradient.defined() || is_finite(gradient)) return 0;
    return gradient.isfinite().logical_not().sum().item<std::int64_t>();
}

std::string nonfinite_text(const std::vector<GradientFinding>& gradients) {
    std::int64_t bad = 0;
    std::string first;
    for (const auto& one : gradients) {
        if (one.bad == 0 || bad++ > 0) continue;
        first =
            one.parameter + " (" + std::to_string(one.bad) + " of " + std::to_string(one.all) + " values)";
    }
    if (bad == 0) return "";
    if (bad == 1) return "the gradient of " + first + " is not finite";
    return "the gradients of " + std::to_string(bad) + " of " + std::to_string(gradients.size()) +
           " parameters are not finite, the first that of " + first;
}

std::string nonfinite_gradients(const std::vector<ParameterGroup>& groups) {
    std::vector<GradientFinding> findings;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto& gradient = parameter.gradient;
            if (gradient.defined())
                findings.push_back({parameter.name, nonfinite_values(gradient), gradient.numel()});
        }
    }
    return nonfinite_text(findings);
}

}  // namespace switchyard::train

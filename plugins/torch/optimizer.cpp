#include "optimizer.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_amp_foreach_non_finite_check_and_unscale.h>
#include <ATen/ops/_foreach_copy.h>
#include <ATen/ops/_foreach_div.h>
#include <ATen/ops/_foreach_mul.h>
#include <ATen/ops/_foreach_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/stack.h>

#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

using at::Tensor;

// LibTorch's fused kernel of a device takes 1 - beta of a beta in float32, which one near 1 does not survive:
// 1 - 0.9999 is off by 2e-4 of it.
bool survives_float(double beta) {
    const double kept = 1.0 - static_cast<double>(static_cast<float>(beta));
    return std::abs(kept - (1.0 - beta)) <= 1e-4 * (1.0 - beta);
}

bool betas_survive(const ParameterGroup& group) {
    return survives_float(group.hyper.beta1) && survives_float(group.hyper.beta2);
}

constexpr bool has_fused(OptimizerKind algorithm) { return algorithm <= OptimizerKind::sgd; }

// The kernels walk all lists in the order of memory: a gradient must lie as its parameter does, and be of its
// dtype.
Tensor as_target(const Parameter& parameter) {
    const auto& gradient = parameter.gradient;
    const auto& target = target_of(parameter);
    if (gradient.layout() != at::kStrided) {
        throw std::invalid_argument("torch optimizer: the gradient of '" + parameter.name + "' is sparse");
    }
    if (gradient.sizes() != target.sizes()) {
        std::ostringstream text;
        text << "torch optimizer: the gradient of '" << parameter.name << "' has shape " << gradient.sizes()
             << ", its parameter " << target.sizes();
        throw std::invalid_argument(text.str());
    }
    if (gradient.scalar_type() == target.scalar_type() && gradient.strides() == target.strides())
        return gradient;
    return at::empty_like(target).copy_(gradient);
}

Tensor scalar_like(double value, const Tensor& tensor) {
    return at::scalar_tensor(value, tensor.options().dtype(at::kFloat).requires_grad(false));
}

// As GradScaler.unscale_; its kernel takes the scale as float32, which is not enough for float64.
void unscale(const std::vector<Tensor>& gradients, const StepParams& params, Tensor& found_inf) {
    const auto& scale = params.grad_scale_tensor;
    if (gradients[0].scalar_type() != at::kDouble) {
        const auto inverse = scale.defined() ? scale.to(at::kDouble).reciprocal().to(at::kFloat)
                                             : scalar_like(1.0 / params.grad_scale, found_inf);
        return at::_amp_foreach_non_finite_check_and_unscale_(gradients, found_inf, inverse);
    }
    at::_foreach_div_(gradients, scale.defined()
                                     ? scale.to(at::kDouble)
                                     : at::scalar_tensor(params.grad_scale, gradients[0].options()));
    for (const auto& gradient : gradients) found_inf.add_(gradient.isfinite().all().logical_not());
    found_inf.clamp_max_(1.0);
}

// As torch.nn.utils.get_total_norm.
Tensor total_norm(const std::vector<GroupTensors>& groups, const Tensor& like) {
    std::vector<Tensor> norms;
    for (const auto& group : groups) {
        if (group.gradients.empty()) continue;
        for (auto& norm : at::_foreach_norm(group.gradients, 2)) norms.push_back(std::move(norm));
    }
    return norms.empty() ? scalar_like(0.0, like) : at::linalg_vector_norm(at::stack(norms), 2);
}

bool any_not_finite(const std::vector<GroupTensors>& groups) {
    for (const auto& group : groups) {
        for (const auto& gradient : group.gradients) {
            if (!gradient.isfinite().all().item<bool>()) return true;
        }
    }
    return false;
}

}  // namespace

TorchOptimizer::TorchOptimizer(const CreateInfo& info)
    : Optimizer(info),
      algorithm_(KindTraits<Kind::optimizer>::request(*info.request).algorithm),
      fused_(has_fused(algorithm_) && info.variant != "foreach"),
      unscale_(KindTraits<Kind::optimizer>::request(*info.request).unscale),
      state_(algorithm_) {}

Verdict TorchOptimizer::supports(const OptimizerRequest& request, const HostInfo& host, const Options&,
                                 std::string_view variant) {
    Verdict verdict;
    require_native(verdict, request, host);
    const bool wide = request.dtype == DType::float32 || request.dtype == DType::float64;
    REQUIRE(verdict, request.algorithm <= OptimizerKind::lion, Code::Algorithm, "algorithm",
            "adamw, adam, sgd or lion (LibTorch has no kernel for others)", formula_name(request));
    REQUIRE(verdict, variant != "fused" || has_fused(request.algorithm), Code::Algorithm, "algorithm",
            "adamw, adam or sgd for the variant fused", name(request.algorithm),
            "name the variant foreach, or none");
    REQUIRE(verdict, variant.empty() || variant == "fused" || variant == "foreach", Code::Variant, "variant",
            "fused or foreach", variant);
    REQUIRE(verdict, wide || request.master_weights, Code::DType, "dtype",
            "float32 or float64, or master weights (LibTorch keeps moments in the dtype that it updates)",
            name(request.dtype), "keep float32 master weights");
    REQUIRE(verdict, is_native_float(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, float64, bfloat16 or float16", name(request.gradient_dtype));
    return verdict;
}

void TorchOptimizer::bind(const std::vector<ParameterGroup>& groups) { state_.bind(groups); }

std::vector<GroupTensors> TorchOptimizer::collect(std::vector<ParameterGroup>& groups) {
    std::vector<GroupTensors> result(groups.size());
    std::size_t index = 0;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        auto& tensors = result[i];
        for (const auto& parameter : groups[i].parameters) {
            const auto& moments = state_[index++];
            if (!parameter.gradient.defined()) continue;
            tensors.targets.push_back(target_of(parameter));
            if (parameter.master.defined()) {
                tensors.masters.push_back(parameter.master);
                tensors.rounded.push_back(parameter.value);
            }
            tensors.gradients.push_back(as_target(parameter));
            if (moments.first.defined()) tensors.first.push_back(moments.first);
            if (moments.second.defined()) tensors.second.push_back(moments.second);
        }
    }
    return result;
}

// Unscales as GradScaler.unscale_, clips as clip_grad_norm_. On CPU a non-finite gradient is known afterwards
// (found_inf is defined and 1); on a device it stays there, unless the foreach kernels, which can't be told,
// need it. Then nothing is clipped: a norm of NaN would make all gradients so, and hide which one it was.
StepResult TorchOptimizer::prepare_gradients(std::vector<GroupTensors>& tensors, const StepParams& params,
                                             std::optional<double> known_norm, Tensor& found_inf) {
    StepResult result;
    const bool clip = params.max_grad_norm > 0.0;
    if (!clip && !asks_unscale(params)) return result;
    const auto& like = state_.step_count();
    found_inf = scalar_like(0.0, like);
    if (asks_unscale(params)) {
        for (const auto& group : tensors) {
            if (!group.gradients.empty()) unscale(group.gradients, params, found_inf);
        }
        result.found_inf = found_inf;
    }
    const auto norm = known_norm ? scalar_like(*known_norm, like) : total_norm(tensors, like);
    result.grad_norm = norm.to(at::kFloat);
    if (!asks_unscale(params) && !known_norm) {
        // The norm may overflow where no gradient did.
        const bool suspect = !like.is_cpu() || !std::isfinite(result.grad_norm.item<float>());
        if (suspect) {
            found_inf = like.is_cpu() ? scalar_like(any_not_finite(tensors) ? 1.0 : 0.0, like)
                                      : result.grad_norm.isfinite().logical_not().to(at::kFloat);
        }
    }
    const bool known = found_inf.is_cpu();
    if (clip && !(known && found_inf.item<float>() != 0.0F)) {
        auto coefficient = norm.add(1e-6).reciprocal().mul(params.max_grad_norm).clamp_max(1.0);
        if (!known) coefficient.masked_fill_(found_inf.ne(0.0), 1.0);
        for (const auto& group : tensors) {
            if (!group.gradients.empty()) at::_foreach_mul_(group.gradients, coefficient);
        }
    }
    return result;
}

StepResult TorchOptimizer::step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                                     std::optional<double> known_norm) {
    const at::NoGradGuard no_grad;
    auto tensors = collect(groups);
    Tensor found_inf;
    const auto result = prepare_gradients(tensors, params, known_norm, found_inf);
    const bool fused = fused_ && (state_.step_count().is_cpu() || std::ranges::all_of(groups, betas_survive));
    const bool must_know = found_inf.defined() && (found_inf.is_cpu() || !fused);
    if (must_know && found_inf.item<float>() != 0.0F) return result;
    if (must_know) found_inf = Tensor();

    auto& step_count = state_.step_count();
    step_count.add_(1);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        auto& group = tensors[i];
        if (group.targets.empty()) continue;
        group.step_count = step_count;
        group.found_inf = found_inf;
        group.lr_factor = params.lr_factor_tensor;
        executed(fused ? "fused" : "foreach");
        fused ? fused_step(algorithm_, groups[i].hyper, group)
              : foreach_step(algorithm_, groups[i].hyper, group);
        if (!group.rounded.empty()) at::_foreach_copy_(group.rounded, group.masters);
    }
    if (found_inf.defined()) step_count.sub_(found_inf);
    return result;
}

}  // namespace switchyard

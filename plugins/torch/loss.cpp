#include "loss.h"

#include <cstdint>
#include <optional>

#include <ATen/ScalarOps.h>
#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include <switchyard/reference/loss.h>
#include <switchyard/sdk/serves.h>

#include "as_type.h"

namespace switchyard {
namespace {

using at::Tensor;

// Rows whose target counts. On CPU the targets are read where they lie: a reduction costs as much as a small
// loss.
std::int64_t count_on_host(const Tensor& targets, std::int64_t ignore_index) {
    const auto dense = targets.contiguous();
    const auto* target = dense.const_data_ptr<std::int64_t>();
    const auto rows = dense.numel();
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < rows; ++i) count += target[i] != ignore_index;
    return count;
}

Tensor z_term(const Tensor& logits, const LossInputs& inputs, const LossParams& params) {
    const auto squares = at::logsumexp(logits, {-1}).square().mul(params.z_loss);
    return at::where(inputs.targets.ne(params.ignore_index), squares,
                     at::scalar_tensor(0.0, squares.options()));
}

// LibTorch's own mean divides by the rows that count; where there are none it gives NaN, and the contract 0.
Tensor cross_entropy(const Tensor& logits, const LossInputs& inputs, const LossParams& params, bool mean) {
    const auto reduction = params.reduction == Reduction::none ? at::Reduction::None
                           : mean                              ? at::Reduction::Mean
                                                               : at::Reduction::Sum;
    return at::cross_entropy_loss(logits, inputs.targets, {}, reduction, params.ignore_index,
                                  params.label_smoothing);
}

// 1 where a target counts, else 0; undefined where all do, as far as that can be seen without waiting for a
// device.
Tensor weights_of(const Tensor& targets) {
    const auto counted = targets.isnan().logical_not();
    if (counted.is_cpu() && counted.all().item<bool>()) return {};
    return counted.to(targets.scalar_type());
}

Tensor each_or_sum(const Tensor& x, const Tensor& y, const Tensor& weights, const LossParams& params) {
    const auto reduction = params.reduction == Reduction::none ? at::Reduction::None : at::Reduction::Sum;
    if (params.loss == LossKind::mean_squared_error) return at::mse_loss(x, y, reduction);
    const auto weight = weights.defined() ? std::optional<Tensor>(weights) : std::nullopt;
    return at::binary_cross_entropy_with_logits(x, y, weight, {}, reduction);
}

// Values that do not count become 0 against 0, which for the squared error is no loss and no gradient, and
// for the cross-entropy has a weight of 0.
LossOutputs loss_of_values(const Tensor& values, const Tensor& targets, const LossParams& params) {
    const auto weights = weights_of(targets);
    auto x = values.to(targets.scalar_type()), y = targets;
    LossOutputs outputs;
    if (weights.defined()) {
        const auto left_out = targets.isnan();
        x = x.masked_fill(left_out, 0.0);
        y = y.masked_fill(left_out, 0.0);
        outputs.count = weights.to(at::kLong).sum();
    } else {
        outputs.count = at::scalar_to_tensor(targets.numel());
    }
    outputs.loss = each_or_sum(x, y, weights, params);
    if (params.reduction == Reduction::none) outputs.loss = outputs.loss.sum(1);
    if (params.reduction == Reduction::mean) outputs.loss = outputs.loss.div(outputs.count.clamp_min(1));
    if (params.reduction == Reduction::sum && params.divisor > 0.0)
        outputs.loss = outputs.loss.div(params.divisor);
    return outputs;
}

}  // namespace

Verdict TorchLoss::supports(const LossRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    return verdict;
}

LossOutputs TorchLoss::forward(const LossInputs& inputs, const LossParams& params, Saved*) {
    executed();
    if (params.loss != LossKind::cross_entropy) return loss_of_values(inputs.x, inputs.targets, params);
    auto logits = inputs.x;
    if (inputs.weight.defined()) {
        const auto bias =
            inputs.bias.defined() ? std::optional<Tensor>(as_type(inputs.bias, inputs.x)) : std::nullopt;
        const auto x = reference::without_ignored(inputs.x, inputs.targets, params.ignore_index);
        logits = at::linear(x, as_type(inputs.weight, inputs.x), bias);
    } else if (
        logits
            .is_cpu()) {  // on a device, where nobody knows yet whether a row is ignored, LibTorch's own NaN
        logits = reference::without_ignored(logits, inputs.targets, params.ignore_index);
    }
    const auto type = logits.scalar_type();
    if (type != at::kDouble && type != at::kFloat) logits = logits.to(at::kFloat);

    LossOutputs outputs;
    bool mean = false;  // taken by LibTorch
    if (inputs.targets.is_cpu()) {
        const auto count = count_on_host(inputs.targets, params.ignore_index);
        outputs.count = at::scalar_to_tensor(count);  // int64, as the targets
        mean = params.reduction == Reduction::mean && count > 0;
    } else {
        outputs.count = inputs.targets.ne(params.ignore_index).sum();
    }
    const auto divided = [&](const Tensor& sum) {
        return params.reduction == Reduction::mean ? sum.div(outputs.count.clamp_min(1)) : sum;
    };
    outputs.loss = cross_entropy(logits, inputs, params, mean);
    if (!mean) outputs.loss = divided(outputs.loss);
    if (params.z_loss > 0.0) {
        const auto z = z_term(logits, inputs, params);
        outputs.loss = outputs.loss.add(params.reduction == Reduction::none ? z : divided(z.sum()));
    }
    if (params.reduction == Reduction::sum && params.divisor > 0.0)
        outputs.loss = outputs.loss.div(params.divisor);
    return outputs;
}

}  // namespace switchyard

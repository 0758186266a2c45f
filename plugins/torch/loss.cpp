#include "loss.h"

#include <algorithm>

#include <ATen/core/Reduction.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include "as_type.h"
#include "serves.h"

namespace switchyard {
namespace {

using at::Tensor;

// int64 scalar on the targets' device. On CPU the targets are read where they lie: a reduction costs as much
// as a small loss.
Tensor count_rows(const Tensor& targets, std::int64_t ignore_index) {
    if (!targets.is_cpu()) return targets.ne(ignore_index).sum();
    const auto dense = targets.contiguous();
    const auto* first = dense.const_data_ptr<std::int64_t>();
    const auto ignored = std::count(first, first + dense.numel(), ignore_index);
    return at::scalar_tensor(dense.numel() - ignored, targets.options());
}

Tensor z_term(const Tensor& logits, const LossInputs& inputs, const LossParams& params) {
    const auto squares = at::logsumexp(logits, {-1}).square().mul(params.z_loss);
    return at::where(inputs.targets.ne(params.ignore_index), squares,
                     at::scalar_tensor(0.0, squares.options()));
}

// LibTorch's own mean divides by the rows that count; where there are none it gives NaN, and the contract 0.
Tensor cross_entropy(const Tensor& logits, const LossInputs& inputs, const LossParams& params,
                     const Tensor& count) {
    const auto entropy = [&](at::Reduction::Reduction reduction) {
        return at::cross_entropy_loss(logits, inputs.targets, {}, reduction, params.ignore_index,
                                      params.label_smoothing);
    };
    if (params.reduction == Reduction::none) return entropy(at::Reduction::None);
    if (params.reduction == Reduction::sum) return entropy(at::Reduction::Sum);
    if (!count.is_cpu()) return entropy(at::Reduction::Sum).div(count.clamp_min(1));
    return entropy(count.item<std::int64_t>() > 0 ? at::Reduction::Mean : at::Reduction::Sum);
}

}  // namespace

Verdict TorchLoss::supports(const LossRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    return verdict;
}

LossOutputs TorchLoss::forward(const LossInputs& inputs, const LossParams& params, Saved*) {
    executed();
    auto logits = inputs.x;
    if (inputs.weight.defined()) {
        const auto bias =
            inputs.bias.defined() ? std::optional<Tensor>(as_type(inputs.bias, inputs.x)) : std::nullopt;
        logits = at::linear(inputs.x, as_type(inputs.weight, inputs.x), bias);
    }
    if (logits.scalar_type() != at::kDouble) logits = logits.to(at::kFloat);

    LossOutputs outputs;
    outputs.count = count_rows(inputs.targets, params.ignore_index);
    outputs.loss = cross_entropy(logits, inputs, params, outputs.count);
    if (params.z_loss > 0.0) {
        const auto z = z_term(logits, inputs, params);
        outputs.loss =
            outputs.loss.add(params.reduction == Reduction::none  ? z
                             : params.reduction == Reduction::sum ? z.sum()
                                                                  : z.sum().div(outputs.count.clamp_min(1)));
    }
    if (params.reduction == Reduction::sum && params.divisor > 0.0)
        outputs.loss = outputs.loss.div(params.divisor);
    return outputs;
}

}  // namespace switchyard

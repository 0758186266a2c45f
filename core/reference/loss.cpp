#include <switchyard/reference/loss.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/reference/linear.h>
#include <switchyard/reference/numeric.h>
#include <switchyard/reference/require.h>

namespace switchyard::reference {
namespace {

void check_values(const LossInputs& inputs, const LossParams& params) {
    require("loss", inputs.x.defined() && inputs.x.dim() == 2, "x must be [rows, values]");
    require("loss", inputs.targets.defined() && inputs.targets.sizes() == inputs.x.sizes(),
            "targets must be ", inputs.x.sizes(), ", one a value of x");
    require("loss", inputs.targets.is_floating_point(), "targets of ", name(params.loss),
            " must be floating numbers, got ", inputs.targets.scalar_type());
    require("loss", !inputs.weight.defined() && !inputs.bias.defined(), name(params.loss),
            " has no projection");
    require("loss", params.label_smoothing == 0.0 && params.z_loss == 0.0, name(params.loss),
            " has neither label smoothing nor z-loss");
}

void check(const LossInputs& inputs) {
    std::ostringstream text;
    if (!inputs.x.defined() || inputs.x.dim() != 2) {
        text << "loss: x must be [rows, classes], or [rows, width] with a projection";
    } else if (!inputs.targets.defined() || inputs.targets.dim() != 1 ||
               inputs.targets.size(0) != inputs.x.size(0)) {
        text << "loss: targets must be [" << inputs.x.size(0) << "], one a row of x";
        if (inputs.targets.defined()) text << ", got " << inputs.targets.sizes();
    } else if (inputs.weight.defined() &&
               (inputs.weight.dim() != 2 || inputs.weight.size(1) != inputs.x.size(1))) {
        text << "loss: weight must be [classes, " << inputs.x.size(1) << "], the width of x, got "
             << inputs.weight.sizes();
    } else if (inputs.bias.defined() && (!inputs.weight.defined() || inputs.bias.dim() != 1 ||
                                         inputs.bias.size(0) != inputs.weight.size(0))) {
        text << "loss: bias must be [classes] of the weight, got " << inputs.bias.sizes();
    } else {
        return;
    }
    throw std::invalid_argument(text.str());
}

// Loss of each row; logits_RC, target_R with every target in range.
at::Tensor row_losses(const at::Tensor& logits_RC, const at::Tensor& target_R, const LossParams& params) {
    const at::Tensor z = wide(logits_RC);
    const at::Tensor lse_R = z.logsumexp(1);
    const at::Tensor chosen_R = z.gather(1, target_R.unsqueeze(1)).squeeze(1);
    at::Tensor loss_R = lse_R - chosen_R;
    if (params.label_smoothing > 0.0) {
        loss_R = loss_R * (1.0 - params.label_smoothing) + (lse_R - z.mean(1)) * params.label_smoothing;
    }
    if (params.z_loss > 0.0) loss_R = loss_R + lse_R.square() * params.z_loss;
    return loss_R;
}

// What stands where a value does not count is taken out before any arithmetic: 0 times NaN is NaN. The larger
// of x and 0 is (x + |x|) / 2, whose derivative at 0 is the right one, 1/2, as autograd takes it.
LossOutputs loss_of_values(const LossInputs& inputs, const LossParams& params) {
    check_values(inputs, params);
    const at::Tensor left_out = inputs.targets.isnan();
    const at::Tensor x = wide(inputs.x).masked_fill(left_out, 0.0);
    const at::Tensor y = inputs.targets.to(x.scalar_type()).masked_fill(left_out, 0.0);
    const at::Tensor each = params.loss == LossKind::mean_squared_error
                                ? (x - y).square()
                                : (x + x.abs()) / 2.0 - x * y + x.abs().neg().exp().log1p();
    const at::Tensor counted = each.masked_fill(left_out, 0.0);
    const std::int64_t count = left_out.numel() - left_out.sum().item<std::int64_t>();
    LossOutputs outputs;
    outputs.count = at::scalar_tensor(count, inputs.targets.options().dtype(at::kLong));
    outputs.loss =
        params.reduction == Reduction::none ? counted.sum(1) : counted.sum() / divisor_of(params, count);
    return outputs;
}

}  // namespace

double divisor_of(const LossParams& params, std::int64_t count) {
    if (params.reduction == Reduction::mean) return static_cast<double>(std::max<std::int64_t>(count, 1));
    return params.divisor > 0.0 ? params.divisor : 1.0;
}

LossOutputs loss(const LossInputs& inputs, const LossParams& params) {
    if (params.loss == LossKind::custom)
        throw std::invalid_argument("loss: the reference knows no custom loss");
    if (params.loss != LossKind::cross_entropy) return loss_of_values(inputs, params);
    check(inputs);
    const at::Tensor counted = inputs.targets.ne(params.ignore_index).nonzero().squeeze(1);
    at::Tensor logits_RC = inputs.x.index_select(0, counted);
    if (inputs.weight.defined()) logits_RC = linear(logits_RC, inputs.weight, inputs.bias);
    const at::Tensor loss_R = row_losses(logits_RC, inputs.targets.index_select(0, counted), params);

    LossOutputs outputs;
    const auto count = counted.size(0);
    outputs.count = at::scalar_tensor(count, inputs.targets.options());
    if (params.reduction == Reduction::none) {
        outputs.loss = loss_R.new_zeros({inputs.x.size(0)}).index_copy(0, counted, loss_R);
    } else {
        outputs.loss = loss_R.sum() / divisor_of(params, count);
    }
    return outputs;
}

at::Tensor without_ignored(const at::Tensor& x, const at::Tensor& targets, std::int64_t ignore_index) {
    const at::Tensor ignored = targets.eq(ignore_index);
    if (ignored.is_cpu() && !ignored.any().item<bool>()) return x;
    return x.masked_fill(ignored.unsqueeze(1), 0.0);
}

}  // namespace switchyard::reference

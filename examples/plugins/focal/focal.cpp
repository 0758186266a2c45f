// Written in ATen calls that autograd follows (gradient = "differentiable"): there is no backward to write.
#include "focal.h"

#include <cstdint>

#include <ATen/TensorOperators.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/where.h>

#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/require.h>
#include <switchyard/reference/loss.h>
#include <switchyard/reference/numeric.h>
#include <switchyard/sdk/serves.h>

using namespace switchyard;

namespace {

using reference::wide;  // float32 where x has 16 bits: their logarithms would be worth little

// A row's target may be `ignore_index`, a value's NaN: whatever is there counts nothing, a NaN neither. So
// such rows are left out before any arithmetic, and such values are replaced, for 0 times NaN is NaN.
struct Counted {
    at::Tensor loss;  // [rows], 0 for those that do not count
    std::int64_t count;
};

Counted focal(const LossInputs& in, const LossParams& params, double gamma) {
    const at::Tensor rows = in.targets.ne(params.ignore_index).nonzero().squeeze(1);
    const at::Tensor targets = in.targets.index_select(0, rows).unsqueeze(1);
    const at::Tensor log_p = wide(in.x.index_select(0, rows)).log_softmax(1).gather(1, targets).squeeze(1);
    // 1 - p without cancellation; at 0 a power below 1 would have no slope.
    const at::Tensor missed = log_p.expm1().neg().clamp_min(1e-12);
    const at::Tensor each = missed.pow(gamma) * log_p.neg();
    return {each.new_zeros({in.x.size(0)}).index_copy(0, rows, each), rows.size(0)};
}

Counted huber(const LossInputs& in, double delta) {
    const at::Tensor left_out = in.targets.isnan();
    const at::Tensor off = wide(in.x.masked_fill(left_out, 0.0)) - in.targets.masked_fill(left_out, 0.0);
    const at::Tensor size = off.abs();
    const at::Tensor each = at::where(size.le(delta), 0.5 * off.square(), delta * (size - 0.5 * delta));
    const std::int64_t count = left_out.numel() - left_out.sum().item<std::int64_t>();
    return {each.masked_fill(left_out, 0.0).sum(1), count};
}

}  // namespace

FocalLoss::FocalLoss(const CreateInfo& info)
    : Loss(info),
      gamma_(info.options.number("gamma")),
      delta_(info.options.number("delta")),
      of_values_(has_value_targets(KindTraits<Kind::loss>::request(*info.request))) {}

Verdict FocalLoss::supports(const LossRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    const bool focal = formula_name(request) == "custom:focal",
               huber = formula_name(request) == "custom:huber";
    REQUIRE(verdict, focal || huber, Code::Algorithm, "loss", "custom:focal or custom:huber",
            formula_name(request));
    // Both are for targets of one form, and the request says which ones will come.
    REQUIRE(verdict, huber == request.value_targets || !(focal || huber), Code::Algorithm, "value_targets",
            huber ? "values" : "classes", request.value_targets ? "values" : "classes");
    // The core projects before a component that says no to it.
    REQUIRE(verdict, !request.projection, Code::Fusion, "projection", "logits", "hidden states");
    return verdict;
}

LossOutputs FocalLoss::forward(const LossInputs& inputs, const LossParams& params, Saved*) {
    executed();
    const Counted made = of_values_ ? huber(inputs, delta_) : focal(inputs, params, gamma_);
    const auto count = at::scalar_tensor(made.count, inputs.targets.options().dtype(at::kLong));
    if (params.reduction == Reduction::none) return {made.loss, count};
    return {made.loss.sum() / reference::divisor_of(params, made.count), count};
}

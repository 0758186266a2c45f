#include "loss.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/sdk/cpu/tile_operands.h>

#include "common/on_cuda.h"
#include "common/rows.h"
#include "common/serves_cpu.h"
#include "loss_rows.h"
#include "projection.h"
#include "value_loss.h"

namespace switchyard {
namespace {

using namespace fused;

// What Saved holds: its first number.
enum class Kept : std::int64_t { logits, projection, gradient, values };

std::int64_t count_of(const at::Tensor& targets, const LossParams& params) {
    const auto* const values = targets.const_data_ptr<std::int64_t>();
    return targets.numel() - std::count(values, values + targets.numel(), params.ignore_index);
}

// Of each row's loss in the result, unless the result is one a row.
double scale_of(const LossParams& params, std::int64_t count) {
    if (params.reduction == Reduction::mean)
        return 1.0 / static_cast<double>(std::max<std::int64_t>(count, 1));
    return params.divisor > 0.0 ? 1.0 / params.divisor : 1.0;
}

LossOutputs outputs_of(const std::vector<double>& losses, const LossParams& params, std::int64_t count) {
    LossOutputs out;
    out.count = at::scalar_tensor(count, at::TensorOptions().dtype(at::kLong));
    const auto options = at::TensorOptions().dtype(at::kFloat);
    if (params.reduction == Reduction::none) {
        out.loss = at::empty({static_cast<std::int64_t>(losses.size())}, options);
        std::copy(losses.begin(), losses.end(), out.loss.mutable_data_ptr<float>());
    } else {
        const double sum = std::accumulate(losses.begin(), losses.end(), 0.0);
        out.loss = at::scalar_tensor(sum * scale_of(params, count), options);
    }
    return out;
}

void keep_gradient(const LossInputs& inputs, const at::Tensor& gradient, Saved& saved) {
    saved.integers = {static_cast<std::int64_t>(Kept::gradient)};
    if (gradient.is_same(inputs.x)) {
        saved.input(inputs.x);
    } else {
        saved.extra(gradient);
    }
}

// The gradient along the way, since its factor is known by now, but for that of the loss's own gradient. In
// float16 it is left to backward: loss scaling comes with that factor.
LossOutputs forward_with_gradient(const LossInputs& inputs, const LossParams& params,
                                  std::int64_t last_cache_bytes, Saved& saved) {
    const at::Tensor logits = dense(inputs.x), targets = dense(inputs.targets);
    const std::int64_t count = count_of(targets, params);
    const at::Tensor gradient =
        params.may_overwrite_logits ? logits : at::empty(logits.sizes(), logits.options());
    const auto losses = losses_and_gradients(
        {logits, data_of<std::int64_t>(targets), &params}, scale_of(params, count), gradient,
        !params.may_overwrite_logits && may_stream(gradient, 64, last_cache_bytes));
    keep_gradient(inputs, gradient, saved);
    return outputs_of(losses, params, count);
}

LossOutputs forward_logits(const LossInputs& inputs, const LossParams& params, Saved* saved) {
    const at::Tensor logits = dense(inputs.x), targets = dense(inputs.targets);
    const auto* const target = data_of<std::int64_t>(targets);
    const std::int64_t count = count_of(targets, params), rows = logits.size(0), classes = logits.size(1);
    std::vector<RowSummary> summaries(static_cast<std::size_t>(rows));
    summarize_rows({logits, target, &params}, summaries.data());
    std::vector<double> losses;
    at::Tensor lse = at::empty({rows}, at::TensorOptions().dtype(at::kFloat));
    auto* const lse_of = lse.mutable_data_ptr<float>();
    for (const RowSummary& row : summaries) {
        const auto at = losses.size();
        lse_of[at] = static_cast<float>(row.log_sum_exp());
        losses.push_back(target[at] == params.ignore_index ? 0.0 : row_loss(row, classes, params));
    }
    if (saved != nullptr) {
        saved->integers = {static_cast<std::int64_t>(Kept::logits), count};
        saved->input(inputs.x);
        saved->input(inputs.targets);
        saved->extra(lse);
    }
    return outputs_of(losses, params, count);
}

// `grad` is dense float32, and outlives what is returned.
RowScale row_scale(const LossParams& params, std::int64_t count, const at::Tensor& grad) {
    if (params.reduction == Reduction::none) return {1.0, grad.const_data_ptr<float>()};
    return {scale_of(params, count) * static_cast<double>(grad.item<float>()), nullptr};
}

LossGrads backward_logits(const LossParams& params, const Saved& saved, const at::Tensor& grad,
                          std::int64_t last_cache_bytes) {
    const at::Tensor logits = dense(saved[0]), targets = dense(saved[1]);
    LossGrads grads;
    grads.x = params.may_overwrite_logits ? logits.detach() : at::empty(logits.sizes(), logits.options());
    row_gradients({logits, data_of<std::int64_t>(targets), &params}, data_of<float>(saved[2]),
                  row_scale(params, saved.integers.at(1), grad), grads.x,
                  !params.may_overwrite_logits && may_stream(grads.x, 64, last_cache_bytes));
    return grads;
}

// With 1, the gradient is what was saved: autograd's own accounting of references keeps anyone from changing
// it unseen.
LossGrads saved_gradient(const LossParams& params, const Saved& saved, const at::Tensor& grad) {
    const at::Tensor made = params.may_overwrite_logits ? saved[0].detach() : saved[0];
    const auto factor = static_cast<double>(grad.item<float>());
    if (factor == 1.0) return {made, {}, {}};
    return {params.may_overwrite_logits ? made.mul_(factor) : made * factor, {}, {}};
}

// The rows whose target counts, alone: what stands in the others reaches nothing, and takes no time.
struct CountedRows {
    CountedRows(const LossInputs& inputs, const LossParams& params)
        : index(inputs.targets.ne(params.ignore_index).nonzero().squeeze(1)),
          all(index.size(0) == inputs.targets.size(0)) {}

    at::Tensor of(const at::Tensor& rows) const { return all ? rows : rows.index_select(0, index); }
    LossInputs of(const LossInputs& in) const { return {of(in.x), in.weight, in.bias, of(in.targets)}; }
    // With zeros for the others.
    at::Tensor spread(const at::Tensor& rows, std::int64_t count) const {
        if (all || !rows.defined()) return rows;
        auto sizes = rows.sizes().vec();
        sizes[0] = count;
        return at::zeros(sizes, rows.options()).index_copy_(0, index, rows);
    }

    const at::Tensor index;
    const bool all;
};

LossOutputs forward_projection(const LossInputs& inputs, const LossParams& params, Saved* saved) {
    const CountedRows counted(inputs, params);
    const ProjectedLoss made = projected_losses(counted.of(inputs), params);
    const std::int64_t rows = inputs.x.size(0), count = counted.index.size(0);
    const auto* const row = counted.index.const_data_ptr<std::int64_t>();
    std::vector<double> losses(static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < made.losses.size(); ++i)
        losses[static_cast<std::size_t>(row[i])] = made.losses[i];
    if (saved != nullptr) {
        saved->integers = {static_cast<std::int64_t>(Kept::projection), count};
        for (const at::Tensor* input : {&inputs.x, &inputs.weight, &inputs.bias, &inputs.targets})
            saved->input(*input);
        at::Tensor lse = at::empty({count}, at::TensorOptions().dtype(at::kFloat));  // of those that count
        std::copy(made.log_sum_exp.begin(), made.log_sum_exp.end(), lse.mutable_data_ptr<float>());
        saved->extra(lse);
    }
    return outputs_of(losses, params, count);
}

LossGrads backward_projection(const LossParams& params, const Saved& saved, const at::Tensor& grad,
                              const LossNeeds& needs) {
    const LossInputs inputs{saved[0], saved[1], saved[2], saved[3]};
    const CountedRows counted(inputs, params);
    const at::Tensor own = params.reduction == Reduction::none ? counted.of(grad) : grad;
    LossGrads grads = projected_gradients(counted.of(inputs), params, data_of<float>(saved[4]),
                                          row_scale(params, saved.integers.at(1), own), needs);
    grads.x = counted.spread(grads.x, inputs.x.size(0));
    return grads;
}

LossOutputs forward_values(const LossInputs& inputs, const LossParams& params, Saved* saved) {
    const ValueLosses made = value_losses(dense(inputs.x), dense(inputs.targets), params.loss);
    if (saved != nullptr) {
        saved->integers = {static_cast<std::int64_t>(Kept::values), made.count};
        saved->input(inputs.x);
        saved->input(inputs.targets);
    }
    return outputs_of(made.rows, params, made.count);
}

LossGrads backward_values(const LossParams& params, const Saved& saved, const at::Tensor& grad) {
    const RowScale scale = row_scale(params, saved.integers.at(1), grad);
    return {value_gradients(dense(saved[0]), dense(saved[1]), params.loss, scale), {}, {}};
}

// The projection is LibTorch's on a device.
const char* computes_in(const LossRequest& request) {
    if (!request.projection) return "fp32";
    return request.device == Device::cuda ? nullptr : tiles::multiplied_in(to_scalar_type(request.dtype));
}

}  // namespace

FusedLoss::FusedLoss(const CreateInfo& info)
    : Loss(info),
      computes_in_(computes_in(KindTraits<Kind::loss>::request(*info.request))),
      last_cache_bytes_(info.host == nullptr ? 0 : info.host->l3_bytes),
      on_cuda_(made_on_cuda<Loss>(info)) {}

Verdict FusedLoss::supports(const LossRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    require_storage(verdict, request, host);
    REQUIRE(verdict, request.loss == LossKind::cross_entropy || request.device == Device::cpu,
            Code::Algorithm, "loss", "cross_entropy on a CUDA device", name(request.loss));
    return verdict;
}

LossOutputs FusedLoss::forward(const LossInputs& inputs, const LossParams& params, Saved* saved) {
    if (on_cuda_) return on_cuda_->forward(inputs, params, saved);
    executed();
    if (params.loss != LossKind::cross_entropy) return forward_values(inputs, params, saved);
    if (inputs.weight.defined()) return forward_projection(inputs, params, saved);
    const bool with_gradient =
        saved != nullptr && params.reduction != Reduction::none && inputs.x.scalar_type() != at::kHalf;
    return with_gradient ? forward_with_gradient(inputs, params, last_cache_bytes_, *saved)
                         : forward_logits(inputs, params, saved);
}

LossGrads FusedLoss::backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                              const LossNeeds& needs) {
    if (on_cuda_) return on_cuda_->backward(params, saved, grad_loss, needs);
    const auto kept = static_cast<Kept>(saved.integers.at(0));
    const at::Tensor grad = grad_loss.to(at::kFloat).contiguous();
    if (kept == Kept::gradient) return saved_gradient(params, saved, grad);
    if (kept == Kept::values) return backward_values(params, saved, grad);
    if (kept == Kept::logits) return backward_logits(params, saved, grad, last_cache_bytes_);
    return backward_projection(params, saved, grad, needs);
}

}  // namespace switchyard

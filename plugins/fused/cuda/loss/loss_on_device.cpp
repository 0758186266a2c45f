#include "loss_on_device.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "cuda/common/tensors.h"
#include "loss_launch.h"

namespace switchyard::fused_cuda {
namespace {

// Of what forward saves; weight and bias are undefined where logits are given.
enum SavedOfLoss : std::size_t { saved_x, saved_targets, saved_lse, saved_count, saved_weight, saved_bias };

bool projects(const LossInputs& inputs) { return inputs.weight.defined(); }

LossCall call_for(const at::Tensor& logits, const at::Tensor& targets, const LossParams& params,
                  std::int64_t classes, std::int64_t first_class) {
    LossCall call;
    call.logits = data_of(logits);
    call.storage = storage_of(logits.scalar_type());
    call.rows = logits.size(0), call.n = logits.size(1);
    call.classes = classes, call.first_class = first_class;
    call.targets = targets.const_data_ptr<std::int64_t>();
    call.ignore_index = params.ignore_index;
    call.smoothing = static_cast<float>(params.label_smoothing);
    call.z_loss = static_cast<float>(params.z_loss);
    call.aligned = all_aligned({call.logits});
    return call;
}

// Logits of some classes of all rows, one after the other in the same memory: a twelfth of them, or what is
// work enough for a product.
class Projection {
public:
    explicit Projection(const LossInputs& inputs)
        : x(dense(inputs.x)),
          weight(inputs.weight.to(inputs.x.scalar_type())),
          bias(inputs.bias.defined() ? inputs.bias.to(inputs.x.scalar_type()) : inputs.bias),
          rows(x.size(0)),
          classes(weight.size(0)) {}

    template <class Body>
    void over_classes(const Body& body) {
        if (rows == 0 || classes == 0) return;
        constexpr std::int64_t step = 64, least_values = std::int64_t{1} << 22;
        const std::int64_t wanted = std::max({classes / 12, least_values / rows, std::int64_t{256}});
        const std::int64_t piece = std::min((wanted + step - 1) / step * step, classes);
        const at::Tensor memory = at::empty({rows * piece}, x.options());
        for (std::int64_t first = 0; first < classes; first += piece) {
            const std::int64_t count = std::min(piece, classes - first);
            at::Tensor logits = memory.narrow(0, 0, rows * count).view({rows, count});
            const at::Tensor part = weight.narrow(0, first, count).t();
            if (bias.defined()) {
                at::addmm_out(logits, bias.narrow(0, first, count), x, part);
            } else {
                at::mm_out(logits, x, part);
            }
            body(logits, first, count);
        }
    }

    const at::Tensor x, weight, bias;
    const std::int64_t rows, classes;
};

// The factor on every row's gradient, of one number or of [rows], on the device: nothing waits for it.
at::Tensor scale_of(const LossParams& params, const at::Tensor& count, const at::Tensor& grad_loss) {
    const at::Tensor grad = grad_loss.to(at::kFloat).contiguous();
    if (params.reduction == Reduction::mean) return grad / count.clamp_min(1);
    if (params.reduction == Reduction::sum && params.divisor > 0.0) return grad / params.divisor;
    return grad;
}

LossGrads gradients_of_projection(const LossInputs& inputs, const LossParams& params, const at::Tensor& lse,
                                  const at::Tensor& scale, const LossNeeds& needs,
                                  const device::Queue& queue) {
    Projection projection(inputs);
    const at::Tensor targets = dense(inputs.targets);
    const auto type = projection.x.scalar_type();
    const auto floats = projection.x.options().dtype(at::kFloat);
    const bool each = params.reduction == Reduction::none;
    // One factor for all rows is left to the sums, where it cannot push small values below what a narrow
    // dtype holds.
    const at::Tensor one = at::empty({}, floats).fill_(1.0);
    LossGrads grads;
    at::Tensor of_x;
    if (needs.x) of_x = at::zeros(projection.x.sizes(), floats);
    at::Tensor counted_x;  // zeros in the rows whose gradient is 0, so that a NaN there is none of the sum
    if (needs.weight) {
        grads.weight = at::zeros(projection.weight.sizes(), projection.weight.options());
        counted_x = projection.x.masked_fill(targets.eq(params.ignore_index).unsqueeze(1), 0.0);
    }
    if (needs.bias) grads.bias = at::zeros({projection.classes}, floats);
    projection.over_classes([&](at::Tensor& logits, std::int64_t first, std::int64_t count) {
        LossCall call = call_for(logits, targets, params, projection.classes, first);
        call.known_log_sum_exp = lse.const_data_ptr<float>();
        call.scale = (each ? scale : one).const_data_ptr<float>();
        call.scale_of_each = each;
        call.out = logits.mutable_data_ptr();
        launch_gradients(call, queue.stream);
        if (needs.x) {
            const at::Tensor part = projection.weight.narrow(0, first, count);
            type == at::kFloat ? of_x.addmm_(logits, part) : of_x.add_(at::mm(logits, part));
        }
        if (needs.weight) {
            at::Tensor part = grads.weight.narrow(0, first, count);
            at::mm_out(part, logits.t(), counted_x);
        }
        if (needs.bias) grads.bias.narrow(0, first, count).copy_(at::sum(logits, {0}, false, at::kFloat));
    });
    const auto finished = [&](const at::Tensor& sum, at::ScalarType to) {
        return each ? sum.to(to) : (sum * scale).to(to);
    };
    if (needs.x) grads.x = finished(of_x, type);
    if (needs.weight) grads.weight = finished(grads.weight, inputs.weight.scalar_type());
    if (needs.bias) grads.bias = finished(grads.bias, inputs.bias.scalar_type());
    return grads;
}

}  // namespace

LossOutputs cross_entropy(const LossInputs& inputs, const LossParams& params, Saved* saved,
                          const device::Queue& queue) {
    const at::Tensor targets = dense(inputs.targets);
    const std::int64_t rows = inputs.x.size(0);
    const auto floats = inputs.x.options().dtype(at::kFloat);
    const at::Tensor lse = at::empty({rows}, floats), losses = at::empty({rows}, floats);
    const auto summarize = [&](const at::Tensor& logits, std::int64_t classes, std::int64_t first,
                               RowSummary* summaries) {
        LossCall call = call_for(logits, targets, params, classes, first);
        call.begins = first == 0;
        call.ends = first + call.n == classes;
        call.summaries = summaries;
        call.log_sum_exp = lse.mutable_data_ptr<float>();
        call.losses = losses.mutable_data_ptr<float>();
        launch_summaries(call, queue.stream);
    };
    if (projects(inputs)) {
        Projection projection(inputs);
        const at::Tensor summaries = at::empty({rows, 4}, floats);
        auto* const place = static_cast<RowSummary*>(summaries.mutable_data_ptr());
        projection.over_classes([&](const at::Tensor& logits, std::int64_t first, std::int64_t) {
            summarize(logits, projection.classes, first, place);
        });
    } else {
        summarize(dense(inputs.x), inputs.x.size(1), 0, nullptr);
    }
    LossOutputs out;
    out.count = at::empty({}, inputs.x.options().dtype(at::kLong));
    const bool each = params.reduction == Reduction::none;
    out.loss = each ? losses : at::empty({}, floats);
    LossSum sum{losses.const_data_ptr<float>(), targets.const_data_ptr<std::int64_t>(), rows,
                params.ignore_index};
    sum.mean = params.reduction == Reduction::mean;
    sum.divisor = params.reduction == Reduction::sum && params.divisor > 0.0 ? params.divisor : 1.0;
    sum.loss = each ? nullptr : out.loss.mutable_data_ptr<float>();
    sum.count = out.count.mutable_data_ptr<std::int64_t>();
    launch_loss_sum(sum, queue.stream);
    if (saved == nullptr) return out;
    saved->input(inputs.x);
    saved->input(inputs.targets);
    saved->extra(lse);
    saved->extra(out.count.clone());
    saved->input(inputs.weight);
    saved->input(inputs.bias);
    return out;
}

LossGrads cross_entropy_backward(const LossParams& params, const Saved& saved, const at::Tensor& grad_loss,
                                 const LossNeeds& needs, const device::Queue& queue) {
    const at::Tensor scale = scale_of(params, saved[saved_count], grad_loss);
    const LossInputs inputs{saved[saved_x], saved[saved_weight], saved[saved_bias], saved[saved_targets]};
    if (projects(inputs))
        return gradients_of_projection(inputs, params, saved[saved_lse], scale, needs, queue);
    const at::Tensor logits = dense(inputs.x), targets = dense(inputs.targets);
    LossGrads grads;
    if (!needs.x) return grads;
    grads.x = params.may_overwrite_logits ? logits : at::empty(logits.sizes(), logits.options());
    LossCall call = call_for(logits, targets, params, logits.size(1), 0);
    call.known_log_sum_exp = saved[saved_lse].const_data_ptr<float>();
    call.scale = scale.const_data_ptr<float>();
    call.scale_of_each = params.reduction == Reduction::none;
    call.out = grads.x.mutable_data_ptr();
    call.aligned = call.aligned && all_aligned({call.out});
    launch_gradients(call, queue.stream);
    return grads;
}

}  // namespace switchyard::fused_cuda

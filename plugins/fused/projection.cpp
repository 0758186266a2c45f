#include "projection.h"

#include <algorithm>

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros.h>

#include "rows.h"

namespace switchyard::fused {
namespace {

// How much of `whole` makes a twelfth of the logits; more where that would be little work for a product.
// A multiple of `step`, so that products find whole vectors.
std::int64_t piece_of(std::int64_t whole, std::int64_t other, std::int64_t least, std::int64_t step) {
    constexpr std::int64_t least_values = std::int64_t{1} << 20;
    const std::int64_t enough = std::max(least, least_values / std::max<std::int64_t>(other, 1));
    const std::int64_t wanted = std::max(whole / 12, enough);
    return std::clamp<std::int64_t>((wanted + step - 1) / step * step, 1, std::max<std::int64_t>(whole, 1));
}

class Projection {
public:
    Projection(const LossInputs& inputs, const LossParams& params)
        : x(dense(inputs.x)),
          weight(inputs.weight.to(inputs.x.scalar_type())),
          bias(inputs.bias.defined() ? inputs.bias.to(inputs.x.scalar_type()) : inputs.bias),
          rows(x.size(0)),
          classes(weight.size(0)),
          targets_(dense(inputs.targets)),
          params_(params) {}

    // Memory for as many logits.
    void reserve(std::int64_t some_rows, std::int64_t some_classes) {
        memory_ = at::empty({some_rows * some_classes}, x.options());
    }
    LossRows logits(std::int64_t row, std::int64_t some_rows, std::int64_t first, std::int64_t some_classes) {
        at::Tensor made = memory_.narrow(0, 0, some_rows * some_classes).view({some_rows, some_classes});
        const at::Tensor part = weight.narrow(0, first, some_classes).t();
        if (bias.defined()) {
            at::addmm_out(made, bias.narrow(0, first, some_classes), x.narrow(0, row, some_rows), part);
        } else {
            at::mm_out(made, x.narrow(0, row, some_rows), part);
        }
        return {made, targets_.const_data_ptr<std::int64_t>() + row, &params_, classes, first};
    }

    const at::Tensor x, weight, bias;
    const std::int64_t rows, classes;

private:
    at::Tensor targets_;
    const LossParams& params_;
    at::Tensor memory_;
};

at::Tensor float_zeros(at::IntArrayRef sizes) {
    return at::zeros(sizes, at::TensorOptions().dtype(at::kFloat));
}

double loss_of(const RowSummary& row, std::int64_t target, std::int64_t classes, const LossParams& params) {
    return target == params.ignore_index ? 0.0 : row_loss(row, classes, params);
}

// body(first class, how many), a piece after the other.
template <class Body>
void over_classes(Projection& projection, const Body& body) {
    if (projection.rows == 0) return;
    const std::int64_t piece = piece_of(projection.classes, projection.rows, 256, 64);
    projection.reserve(projection.rows, piece);
    for (std::int64_t first = 0; first < projection.classes; first += piece)
        body(first, std::min(piece, projection.classes - first));
}

}  // namespace

ProjectedLoss losses_by_classes(const LossInputs& inputs, const LossParams& params) {
    Projection projection(inputs, params);
    std::vector<RowSummary> summaries(static_cast<std::size_t>(projection.rows));
    over_classes(projection, [&](std::int64_t first, std::int64_t count) {
        summarize_rows(projection.logits(0, projection.rows, first, count), summaries.data());
    });
    const at::Tensor targets = dense(inputs.targets);
    const auto* target = targets.const_data_ptr<std::int64_t>();
    ProjectedLoss made;
    for (const RowSummary& row : summaries) {
        made.losses.push_back(loss_of(row, *target++, projection.classes, params));
        made.log_sum_exp.push_back(static_cast<float>(row.log_sum_exp()));
    }
    return made;
}

LossGrads gradients_by_classes(const LossInputs& inputs, const LossParams& params, const float* log_sum_exp,
                               const RowScale& scale, const LossNeeds& needs) {
    Projection projection(inputs, params);
    const auto type = projection.x.scalar_type();
    const bool per_row = scale.each != nullptr;
    // One factor for all rows is left to the sums, where it cannot push small values below what a narrow dtype holds.
    const double after = per_row ? 1.0 : scale.all;
    const RowScale within{1.0, scale.each};
    LossGrads grads;
    at::Tensor of_x;
    if (needs.x) of_x = float_zeros(projection.x.sizes());
    if (needs.weight) {
        grads.weight = projection.rows == 0
                           ? at::zeros(projection.weight.sizes(), projection.weight.options())
                           : at::empty(projection.weight.sizes(), projection.weight.options());
    }
    if (needs.bias) grads.bias = float_zeros({projection.classes});
    over_classes(projection, [&](std::int64_t first, std::int64_t count) {
        const LossRows rows = projection.logits(0, projection.rows, first, count);
        row_gradients(rows, log_sum_exp, within, rows.logits, false);
        if (needs.x) {
            const at::Tensor part = projection.weight.narrow(0, first, count);
            if (type == at::kFloat) {
                of_x.addmm_(rows.logits, part, 1.0, after);
            } else {
                of_x.add_(at::mm(rows.logits, part), after);
            }
        }
        if (needs.weight) {
            at::Tensor part = grads.weight.narrow(0, first, count);
            at::mm_out(part, rows.logits.t(), projection.x);
            if (after != 1.0) part.mul_(after);
        }
        if (needs.bias)
            grads.bias.narrow(0, first, count).add_(at::sum(rows.logits, {0}, false, at::kFloat), after);
    });
    if (needs.x) grads.x = of_x.to(type);
    if (needs.weight) grads.weight = grads.weight.to(inputs.weight.scalar_type());
    if (needs.bias) grads.bias = grads.bias.to(inputs.bias.scalar_type());
    return grads;
}

LossGrads gradients_by_rows(const LossInputs& inputs, const LossParams& params, double scale,
                            const LossNeeds& needs, std::vector<double>& losses) {
    Projection projection(inputs, params);
    LossGrads grads;
    if (needs.x) grads.x = at::empty(projection.x.sizes(), projection.x.options());
    if (needs.weight) grads.weight = float_zeros(projection.weight.sizes());
    if (needs.bias) grads.bias = float_zeros({projection.classes});
    const std::int64_t piece = piece_of(projection.rows, projection.classes, 64, 16);
    projection.reserve(std::min(piece, projection.rows), projection.classes);
    for (std::int64_t row = 0; row < projection.rows; row += piece) {
        const std::int64_t count = std::min(piece, projection.rows - row);
        const LossRows rows = projection.logits(row, count, 0, projection.classes);
        std::vector<RowSummary> summaries(static_cast<std::size_t>(count));
        std::vector<float> log_sum_exp;
        summarize_rows(rows, summaries.data());
        for (const RowSummary& summary : summaries) {
            losses.push_back(loss_of(summary, rows.targets[log_sum_exp.size()], projection.classes, params));
            log_sum_exp.push_back(static_cast<float>(summary.log_sum_exp()));
        }
        row_gradients(rows, log_sum_exp.data(), {scale, nullptr}, rows.logits, false);
        const at::Tensor x = projection.x.narrow(0, row, count);
        if (needs.x) {
            at::Tensor of_piece = grads.x.narrow(0, row, count);
            at::mm_out(of_piece, rows.logits, projection.weight);
        }
        if (needs.weight) grads.weight.addmm_(rows.logits.t(), x);
        if (needs.bias) grads.bias.add_(at::sum(rows.logits, {0}));
    }
    if (needs.weight) grads.weight = grads.weight.to(inputs.weight.scalar_type());
    if (needs.bias) grads.bias = grads.bias.to(inputs.bias.scalar_type());
    return grads;
}

}  // namespace switchyard::fused

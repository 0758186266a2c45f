#include "loss_rows.h"

#include <cmath>

#include "rows.h"

namespace switchyard::fused {
namespace {

template <class T>
void gradient_of(const LossRows& rows, std::int64_t row, double lse, double scale, T* out, bool streams) {
    const std::int64_t n = rows.logits.size(1), target = rows.targets[row] - rows.first_class;
    const T* const logits = data_of<T>(rows.logits) + row * n;
    const LossParams& params = *rows.params;
    const double constant = scale * params.label_smoothing / static_cast<double>(rows.classes);
    const double factor = scale * (1.0 + 2.0 * params.z_loss * lse);
    const bool here = target >= 0 && target < n;
    const auto chosen = here ? static_cast<double>(static_cast<float>(logits[target])) : 0.0;
    loss_kernels<T>().gradient(logits, n, static_cast<float>(lse), static_cast<float>(factor),
                               static_cast<float>(constant), out, streams);
    if (!here) return;
    const double softmax = factor * std::exp(chosen - lse);
    out[target] =
        static_cast<T>(static_cast<float>(softmax - constant - scale * (1.0 - params.label_smoothing)));
}

}  // namespace

double row_loss(const RowSummary& row, std::int64_t classes, const LossParams& params) {
    const double smoothing = params.label_smoothing, lse = row.log_sum_exp();
    double loss = (1.0 - smoothing) * (lse - row.chosen);
    if (smoothing > 0.0) loss += smoothing * (lse - row.sum / static_cast<double>(classes));
    return loss + params.z_loss * lse * lse;
}

void summarize_rows(const LossRows& rows, RowSummary* summaries) {
    const RowShape shape{rows.logits.size(0), rows.logits.size(1)};
    in_storage(rows.logits.scalar_type(), [&](auto type) {
        using T = decltype(type);
        const T* const logits = data_of<T>(rows.logits);
        over_rows(shape, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                if (rows.targets[row] == rows.params->ignore_index) continue;
                const std::int64_t target = rows.targets[row] - rows.first_class;
                const T* const from = logits + row * shape.width;
                loss_kernels<T>().summarize(from, shape.width, summaries[row]);
                if (target >= 0 && target < shape.width)
                    summaries[row].chosen = static_cast<double>(static_cast<float>(from[target]));
            }
        });
    });
}

void row_gradients(const LossRows& rows, const float* log_sum_exp, const RowScale& scale,
                   const at::Tensor& out, bool streams) {
    const RowShape shape{rows.logits.size(0), rows.logits.size(1)};
    in_storage(rows.logits.scalar_type(), [&](auto type) {
        using T = decltype(type);
        T* const to = mutable_data_of<T>(out);
        over_rows(shape, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                T* const at = to + row * shape.width;
                if (rows.targets[row] == rows.params->ignore_index) {
                    std::fill_n(at, shape.width, T(0.0F));
                } else {
                    gradient_of<T>(rows, row, log_sum_exp[row], scale.of(row), at, streams);
                }
            }
        });
    });
}

}  // namespace switchyard::fused

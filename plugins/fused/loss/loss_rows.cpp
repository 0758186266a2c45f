#include "loss_rows.h"

#include <cmath>

#include "common/rows.h"

namespace switchyard::fused {
namespace {

struct Factors {
    double lse, softmax, constant, target;

    Factors(const LossParams& params, std::int64_t classes, double log_sum_exp, double scale)
        : lse(log_sum_exp),
          softmax(scale * (1.0 + 2.0 * params.z_loss * lse)),
          constant(scale * params.label_smoothing / static_cast<double>(classes)),
          target(scale * (1.0 - params.label_smoothing)) {}
    double of_target(double logit) const { return softmax * std::exp(logit - lse) - constant - target; }
};

template <class T>
void gradient_of(const LossRows& rows, std::int64_t row, double lse, double scale, T* out, bool streams) {
    const std::int64_t n = rows.logits.size(1), target = rows.targets[row];
    const T* const logits = data_of<T>(rows.logits) + row * n;
    const Factors factors(*rows.params, n, lse, scale);
    const auto chosen = static_cast<double>(static_cast<float>(logits[target]));
    loss_kernels<T>().gradient(logits, n, static_cast<float>(lse), static_cast<float>(factors.softmax),
                               static_cast<float>(factors.constant), out, streams);
    out[target] = static_cast<T>(static_cast<float>(factors.of_target(chosen)));
}

// The exponentials of one row, and the largest logit of each of its pieces.
struct RowScratch {
    explicit RowScratch(std::int64_t classes)
        : exponentials(static_cast<std::size_t>(classes)),
          tops(static_cast<std::size_t>(classes / piece_classes + 1)) {}

    std::vector<float> exponentials, tops;
};

template <class T>
double loss_and_gradient(const LossRows& rows, std::int64_t row, double scale, RowScratch& scratch, T* out,
                         bool streams) {
    const std::int64_t n = rows.logits.size(1), target = rows.targets[row];
    const T* const logits = data_of<T>(rows.logits) + row * n;
    RowSummary summary;
    summary.chosen = static_cast<double>(static_cast<float>(logits[target]));
    loss_kernels<T>().exponentials(logits, n, summary, scratch.exponentials.data(), scratch.tops.data());
    const Factors factors(*rows.params, n, summary.log_sum_exp(), scale);
    for (float& top : scratch.tops)
        top = static_cast<float>(factors.softmax * std::exp(static_cast<double>(top) - factors.lse));
    loss_kernels<T>().scaled(scratch.exponentials.data(), n, scratch.tops.data(),
                             static_cast<float>(factors.constant), out, streams);
    out[target] = static_cast<T>(static_cast<float>(factors.of_target(summary.chosen)));
    return row_loss(summary, n, *rows.params);
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
                const T* const from = logits + row * shape.width;
                loss_kernels<T>().summarize(from, shape.width, summaries[row]);
                summaries[row].chosen = static_cast<double>(static_cast<float>(from[rows.targets[row]]));
            }
        });
    });
}

std::vector<double> losses_and_gradients(const LossRows& rows, double scale, const at::Tensor& out,
                                         bool streams) {
    const RowShape shape{rows.logits.size(0), rows.logits.size(1)};
    std::vector<double> losses(static_cast<std::size_t>(shape.rows));
    in_storage(rows.logits.scalar_type(), [&](auto type) {
        using T = decltype(type);
        T* const to = mutable_data_of<T>(out);
        over_rows(shape, [&](std::int64_t begin, std::int64_t end) {
            RowScratch scratch(shape.width);
            for (std::int64_t row = begin; row < end; ++row) {
                T* const at = to + row * shape.width;
                if (rows.targets[row] == rows.params->ignore_index) {
                    std::fill_n(at, shape.width, T(0.0F));
                } else {
                    losses[static_cast<std::size_t>(row)] =
                        loss_and_gradient<T>(rows, row, scale, scratch, at, streams);
                }
            }
        });
    });
    return losses;
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

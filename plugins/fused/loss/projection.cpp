#include "projection.h"

#include <cmath>
#include <limits>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include "projection_gradients.h"
#include "projection_tiles.h"

namespace switchyard::fused {
namespace {

constexpr std::int64_t group_rows = 256;  // of a task
constexpr std::int64_t strip_classes =
    1024;  // a task's: their sums are joined in float32, those of strips in float64

// What the classes of each strip say about each row.
class StripSums {
public:
    StripSums(std::int64_t strips, std::int64_t rows)
        : strips_(strips), columns_(tiles::up16(rows)), all_(at::zeros({3, strips, columns_}, at::kFloat)) {
        all_.select(0, 0).fill_(-std::numeric_limits<float>::infinity());
    }

    ColumnSums of(std::int64_t strip, std::int64_t row) const {
        float* const at = all_.mutable_data_ptr<float>() + strip * columns_ + row;
        return {at, at + strips_ * columns_, at + 2 * strips_ * columns_};
    }
    RowSummary joined(std::int64_t row) const {
        RowSummary summary;
        for (std::int64_t strip = 0; strip < strips_; ++strip)
            summary.top = std::max(summary.top, static_cast<double>(*of(strip, row).top));
        for (std::int64_t strip = 0; strip < strips_; ++strip) {
            const ColumnSums sums = of(strip, row);
            const auto total = static_cast<double>(*sums.total);
            if (total != 0.0) summary.total += total * std::exp(static_cast<double>(*sums.top) - summary.top);
            summary.sum += static_cast<double>(*sums.sum);
        }
        // Whatever the exponentials and maxima make of a NaN, the sum of the logits keeps it.
        if (std::isnan(summary.sum)) summary.total = summary.sum;
        return summary;
    }

private:
    std::int64_t strips_, columns_;
    at::Tensor all_;
};

template <class Storage, class Compute>
ProjectedLoss losses_of(const ProjectionOperands& in, const LossParams& params) {
    using Tiles = LogitsTiles<Storage, Compute>;
    const Tiles logits(in.x, in.weight, in.bias);
    const std::int64_t strips = (logits.classes + strip_classes - 1) / strip_classes;
    const std::int64_t groups = (logits.rows + group_rows - 1) / group_rows;
    const StripSums sums(strips, logits.rows);
    std::vector<double> chosen(static_cast<std::size_t>(logits.rows));
    const auto* const target = data_of<std::int64_t>(in.targets);
    const auto take_in = [&](std::int64_t strip, std::int64_t row, std::int64_t first,
                             const LogitsTile& tile) {
        projection_kernels().summarize(tile, sums.of(strip, row));
        over_targets(tile, target, first, row, logits.rows,
                     [&](std::int64_t r, std::int64_t /*at*/, double logit) {
                         chosen[static_cast<std::size_t>(r)] = logit;
                     });
    };
    tiles::run_tasks<typename Tiles::Scratch>(strips * groups, [&](std::int64_t task, auto& scratch) {
        const std::int64_t strip = task / groups, begin = task % groups * group_rows;
        const std::int64_t last = std::min(logits.classes, (strip + 1) * strip_classes);
        for (std::int64_t first = strip * strip_classes; first < last; first += tile_classes) {
            const auto some = logits.operand(first, std::min(tile_classes, last - first), scratch);
            logits.over_rows(
                begin, std::min(begin + group_rows, logits.rows), some, scratch,
                [&](std::int64_t row, const LogitsTile& tile) { take_in(strip, row, first, tile); });
        }
    });
    ProjectedLoss made;
    for (std::int64_t row = 0; row < logits.rows; ++row) {
        RowSummary summary = sums.joined(row);
        summary.chosen = chosen[static_cast<std::size_t>(row)];
        made.losses.push_back(row_loss(summary, logits.classes, params));
        made.log_sum_exp.push_back(static_cast<float>(summary.log_sum_exp()));
    }
    return made;
}

// body(Storage(), Compute()): bfloat16 is multiplied as it is where the processor can, all else as float.
template <class Body>
auto in_types(at::ScalarType type, const Body& body) {
    if (type == at::kFloat) return body(float(), float());
    if (type == at::kHalf) return body(c10::Half(), float());
    if (tiles::multiplies_bfloat16()) return body(c10::BFloat16(), c10::BFloat16());
    return body(c10::BFloat16(), float());
}

ProjectionOperands operands_of(const LossInputs& inputs) {
    const auto type = inputs.x.scalar_type();
    const bool as_it_is = type == at::kBFloat16 && tiles::multiplies_bfloat16();
    return {dense(inputs.x).to(as_it_is ? type : at::kFloat), dense(inputs.weight.to(type)),
            dense_float(inputs.bias), dense(inputs.targets)};
}

}  // namespace

ProjectedLoss projected_losses(const LossInputs& inputs, const LossParams& params) {
    const ProjectionOperands operands = operands_of(inputs);
    return in_types(inputs.x.scalar_type(), [&](auto storage, auto compute) {
        return losses_of<decltype(storage), decltype(compute)>(operands, params);
    });
}

LossGrads projected_gradients(const LossInputs& inputs, const LossParams& params, const float* log_sum_exp,
                              const RowScale& scale, const LossNeeds& needs) {
    const ProjectionOperands operands = operands_of(inputs);
    LossGrads grads = in_types(inputs.x.scalar_type(), [&](auto storage, auto compute) {
        ProjectionGradients<decltype(storage), decltype(compute)> gradients(operands, params, log_sum_exp,
                                                                            scale, needs);
        return gradients.run();
    });
    if (needs.weight) grads.weight = grads.weight.to(inputs.weight.scalar_type());
    if (needs.bias) grads.bias = grads.bias.to(inputs.bias.scalar_type());
    return grads;
}

}  // namespace switchyard::fused

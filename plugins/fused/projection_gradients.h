// Gradients of a projection's cross-entropy, some classes of all rows at a time. A piece has its gradients, [classes, rows], and its weights as right operands; first all
// threads make these, then they multiply them: into the weight's gradient, and into that of x.
#pragma once

#include <cmath>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/loss.h>

#include "loss_rows.h"
#include "projection_tiles.h"

namespace switchyard::fused {

constexpr std::int64_t group_rows = 256;  // of a task that makes logits
constexpr std::int64_t panel_width = 64;  // columns of x and weight that a right operand has
constexpr std::int64_t task_panels = 6;   // of a task that multiplies gradients
constexpr std::int64_t task_rows = 128;   // of one for the gradient of x
constexpr std::int64_t task_depth = 512;  // classes that are multiplied at once there

// Dense. x in the dtype that is multiplied, the weight in storage's, the bias in float.
struct ProjectionOperands {
    at::Tensor x, weight, bias, targets;
};

// body(row, index of its target in the tile, logit) for rows of the tile whose target is among its classes.
template <class Body>
void over_targets(const LogitsTile& tile, const std::int64_t* targets, std::int64_t first_class,
                  std::int64_t first_row, std::int64_t rows, const Body& body) {
    for (std::int64_t row = first_row; row < std::min(first_row + tile.rows, rows); ++row) {
        const std::int64_t at = targets[row] - first_class;
        if (at < 0 || at >= tile.classes) continue;
        const float product = tile.products[at * tile_columns + row - first_row];
        body(row, at, static_cast<double>(tile.bias == nullptr ? product : product + tile.bias[at]));
    }
}

template <class Storage, class Compute>
class ProjectionGradients {
public:
    ProjectionGradients(const ProjectionOperands& in, const LossParams& params, const float* log_sum_exp,
                        const RowScale& scale, const LossNeeds& needs)
        : logits_(in.x, in.weight, in.bias),
          params_(params),
          targets_(data_of<std::int64_t>(in.targets)),
          needs_(needs),
          kernels_(projection_kernels()),
          depth_(tiles::up16(logits_.rows)),
          factors_(at::zeros({3, depth_}, at::kFloat)) {
        set_factors(log_sum_exp, scale);
        const auto storage = in.weight.options();
        const at::IntArrayRef of_x = in.x.sizes();
        if (needs.x) x_sums_ = at::zeros(of_x, at::kFloat);
        if (needs.weight) {
            grads_.weight = logits_.rows == 0 ? at::zeros(in.weight.sizes(), storage)
                                              : at::empty(in.weight.sizes(), storage);
            pack_rows(data_of<Compute>(in.x));
        }
        if (needs.bias) grads_.bias = at::zeros({logits_.classes}, at::kFloat);
        type_ = in.weight.scalar_type();
    }

    LossGrads run() {
        const std::int64_t piece = logits_.rows == 0 ? 0 : classes_at_once();
        gradients_.fit(piece * depth_);
        if (needs_.x) weights_.fit(tiles::even(piece) * logits_.width);
        for (std::int64_t first = 0; piece > 0 && first < logits_.classes; first += piece) {
            const std::int64_t count = std::min(piece, logits_.classes - first);
            make_gradients(first, count);
            multiply({first, count});
        }
        if (needs_.x) grads_.x = x_sums_.to(type_);
        return grads_;
    }

private:
    using Tiles = LogitsTiles<Storage, Compute>;
    struct Scratch {
        typename Tiles::Scratch tiles;
        tiles::Buffer<float> products;
        tiles::Buffer<Compute> rows;  // gradients of some rows, [rows, classes]
    };

    // A piece may have a 24th of the logits' memory.
    std::int64_t classes_at_once() const {
        const auto of_class =
            (depth_ + (needs_.x ? logits_.width : 0)) * static_cast<std::int64_t>(sizeof(Compute));
        const auto all = logits_.rows * logits_.classes * static_cast<std::int64_t>(sizeof(Storage));
        const std::int64_t wanted =
            std::max<std::int64_t>(all / 24 / of_class / tile_classes, 2) * tile_classes;
        return std::min(wanted, logits_.classes);
    }

    // One factor for all rows goes into them, too: they are float, or bfloat16 with float's exponents.
    void set_factors(const float* log_sum_exp, const RowScale& scale) {
        auto* const lse = factors_.mutable_data_ptr<float>();
        const double smoothing = params_.label_smoothing / static_cast<double>(logits_.classes);
        for (std::int64_t row = 0; row < logits_.rows; ++row) {
            const bool counts = targets_[row] != params_.ignore_index;
            const double of_row = counts ? scale.of(row) : 0.0, whole = static_cast<double>(log_sum_exp[row]);
            scales_.push_back(of_row);
            lse[row] = log_sum_exp[row];
            lse[depth_ + row] = static_cast<float>(of_row * (1.0 + 2.0 * params_.z_loss * whole));
            lse[2 * depth_ + row] = static_cast<float>(of_row * smoothing);
        }
    }
    ColumnFactors factors(std::int64_t row) const {
        const auto* const lse = factors_.const_data_ptr<float>() + row;
        return {lse, lse + depth_, lse + 2 * depth_};
    }

    std::int64_t panels() const { return (logits_.width + panel_width - 1) / panel_width; }
    std::int64_t width_of(std::int64_t panel) const {
        return std::min(panel_width, logits_.width - panel * panel_width);
    }

    // x as the right operand of the weight's gradient.
    void pack_rows(const Compute* x) {
        x_.fit(depth_ * logits_.width);
        struct None {};
        tiles::run_tasks<None>(panels(), [&](std::int64_t panel, None&) {
            const std::int64_t column = panel * panel_width;
            tiles::right(kernels_.panels, tiles::Source<Compute>{x + column, logits_.width}, logits_.rows,
                         width_of(panel), depth_, x_.data() + column * depth_);
        });
    }

    void make_gradients(std::int64_t first, std::int64_t count) {
        const std::int64_t groups = (logits_.rows + group_rows - 1) / group_rows;
        const std::int64_t parts = (count + tile_classes - 1) / tile_classes;
        tiles::run_tasks<Scratch>(parts * groups, [&](std::int64_t task, Scratch& scratch) {
            const std::int64_t at = task / groups * tile_classes, begin = task % groups * group_rows;
            const auto some = logits_.operand(first + at, std::min(tile_classes, count - at), scratch.tiles);
            if (begin == 0 && needs_.x) pack_classes(some, at, count);
            logits_.over_rows(begin, std::min(begin + group_rows, logits_.rows), some, scratch.tiles,
                              [&](std::int64_t row, const LogitsTile& tile) {
                                  gradients_of(tile, some.first, row, gradients_.data() + at * depth_ + row);
                              });
        });
    }

    // The weight as the right operand of the gradient of x.
    void pack_classes(const Classes<Compute>& some, std::int64_t at, std::int64_t count) {
        for (std::int64_t panel = 0; panel < panels(); ++panel) {
            const std::int64_t column = panel * panel_width, n = width_of(panel);
            tiles::right(kernels_.panels, tiles::Source<Compute>{some.data + column, some.depth}, some.count,
                         n, tiles::even(some.count), weights_.data() + column * tiles::even(count) + at * n);
        }
    }

    void gradients_of(const LogitsTile& tile, std::int64_t first, std::int64_t row, Compute* out) const {
        const ColumnFactors rows = factors(row);
        if constexpr (tiles::in_pairs<Compute>) {
            kernels_.bfloat16_gradients(tile, rows, out, depth_);
        } else {
            kernels_.float_gradients(tile, rows, out, depth_);
        }
        over_targets(
            tile, targets_, first, row, logits_.rows, [&](std::int64_t r, std::int64_t at, double logit) {
                const double scale = scales_[static_cast<std::size_t>(r)];
                const std::int64_t column = r - row;
                const auto lse = static_cast<double>(rows.log_sum_exp[column]);
                const double softmax = static_cast<double>(rows.factor[column]) * std::exp(logit - lse);
                const double less =
                    static_cast<double>(rows.constant[column]) + scale * (1.0 - params_.label_smoothing);
                if (scale != 0.0)
                    out[at * depth_ + column] = static_cast<Compute>(static_cast<float>(softmax - less));
            });
    }

    // Of a piece that begins with the class `first`.
    struct Piece {
        std::int64_t first, count;
    };
    struct Panels {
        std::int64_t begin, end;
    };
    Panels panels_of(std::int64_t task) const {
        return {task * task_panels, std::min(panels(), (task + 1) * task_panels)};
    }

    void multiply(const Piece& piece) {
        const std::int64_t groups = (panels() + task_panels - 1) / task_panels;
        const bool by_class = needs_.weight || needs_.bias;
        const std::int64_t of_weight =
            by_class ? (piece.count + tile_classes - 1) / tile_classes * groups : 0;
        const std::int64_t of_x = needs_.x ? (logits_.rows + task_rows - 1) / task_rows * groups : 0;
        tiles::run_tasks<Scratch>(of_weight + of_x, [&](std::int64_t task, Scratch& scratch) {
            if (task >= of_weight) {
                const std::int64_t row = (task - of_weight) / groups * task_rows;
                return add_to_x(piece, row, panels_of((task - of_weight) % groups), scratch);
            }
            const std::int64_t at = task / groups * tile_classes;
            const Piece some{piece.first + at, std::min(tile_classes, piece.count - at)};
            const Compute* const of_classes = gradients_.data() + at * depth_;
            if (needs_.weight) make_weight(some, of_classes, panels_of(task % groups), scratch);
            if (needs_.bias && task % groups == 0) make_bias(some, of_classes);
        });
    }

    void make_weight(const Piece& some, const Compute* of_classes, const Panels& among,
                     Scratch& scratch) const {
        auto* const to = mutable_data_of<Storage>(grads_.weight) + some.first * logits_.width;
        scratch.products.fit(tile_classes * panel_width);
        for (std::int64_t panel = among.begin; panel < among.end; ++panel) {
            const std::int64_t column = panel * panel_width, n = width_of(panel);
            const Compute* const x = x_.data() + column * depth_;
            if constexpr (std::is_same_v<Storage, float>) {
                deep_product(some.count, n, depth_, of_classes, depth_, x, to + column, logits_.width, false);
            } else {
                float* const made = scratch.products.data();
                deep_product(some.count, n, depth_, of_classes, depth_, x, made, n, false);
                for (std::int64_t c = 0; c < some.count; ++c)
                    kernels_.rows.from_floats(made + c * n, n, type_, to + c * logits_.width + column);
            }
        }
    }

    void make_bias(const Piece& some, const Compute* of_classes) const {
        auto* const to = mutable_data_of<float>(grads_.bias) + some.first;
        for (std::int64_t c = 0; c < some.count; ++c) {
            const Compute* const row = of_classes + c * depth_;
            if constexpr (tiles::in_pairs<Compute>) {
                to[c] = kernels_.sum_bfloat16s(row, logits_.rows);
            } else {
                to[c] = kernels_.sum_floats(row, logits_.rows);
            }
        }
    }

    void add_to_x(const Piece& piece, std::int64_t row, const Panels& among, Scratch& scratch) const {
        const std::int64_t some = std::min(task_rows, logits_.rows - row);
        scratch.rows.fit(task_rows * task_depth);
        auto* const to = mutable_data_of<float>(x_sums_) + row * logits_.width;
        for (std::int64_t at = 0; at < piece.count; at += task_depth) {
            const std::int64_t k = std::min(task_depth, piece.count - at), depth = tiles::even(k);
            transpose(gradients_.data() + at * depth_ + row, k, some, scratch.rows.data(), depth);
            for (std::int64_t panel = among.begin; panel < among.end; ++panel) {
                const std::int64_t column = panel * panel_width, n = width_of(panel);
                tiles::product(some, n, depth, scratch.rows.data(), depth,
                               weights_.data() + column * tiles::even(piece.count) + at * n, n, to + column,
                               logits_.width, piece.first > 0 || at > 0);
            }
        }
    }

    // [n, depth] from [k, n]; a column that only fills up is zero.
    void transpose(const Compute* from, std::int64_t k, std::int64_t n, Compute* out,
                   std::int64_t depth) const {
        if constexpr (tiles::in_pairs<Compute>) {
            kernels_.panels.transpose16(reinterpret_cast<const std::uint16_t*>(from), k, n, depth_,
                                        reinterpret_cast<std::uint16_t*>(out), depth);
        } else {
            kernels_.panels.transpose32(reinterpret_cast<const std::uint32_t*>(from), k, n, depth_,
                                        reinterpret_cast<std::uint32_t*>(out), depth);
        }
        if (k < depth)
            for (std::int64_t i = 0; i < n; ++i) out[i * depth + k] = Compute(0.0F);
    }

    Tiles logits_;
    const LossParams& params_;
    const std::int64_t* targets_;
    LossNeeds needs_;
    const ProjectionKernels& kernels_;
    std::int64_t depth_;  // rows, filled up
    at::Tensor factors_;  // [3, rows filled up]
    std::vector<double> scales_;
    at::ScalarType type_ = at::kFloat;
    at::Tensor x_sums_;
    tiles::Buffer<Compute> x_;          // [panels of D][R][columns of the panel]
    tiles::Buffer<Compute> weights_;    // [panels of D][classes of a piece][columns of the panel]
    tiles::Buffer<Compute> gradients_;  // [classes of a piece][R]
    LossGrads grads_;
};

}  // namespace switchyard::fused

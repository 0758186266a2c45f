// Gradients of a projection's cross-entropy, 256 classes a task: their logits again, the gradients of these,
// the weight's gradient, and what they add to the gradient of x. That is added up in the order of the
// classes: a task waits, for each block of rows, until the one before is done with it. All that a task makes
// stays with its thread, in the second cache; threads follow each other through the blocks at a distance and
// hardly ever wait.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/loss.h>

#include "loss_rows.h"
#include "projection_tiles.h"

namespace switchyard::fused {

constexpr std::int64_t panel_width = 64;  // columns of x and weight that a right operand has
constexpr std::int64_t block_rows = 128;  // of the gradient of x that are added to at once

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
        const std::int64_t tasks =
            logits_.rows == 0 ? 0 : (logits_.classes + tile_classes - 1) / tile_classes;
        Progress progress(static_cast<std::size_t>((logits_.rows + block_rows - 1) / block_rows));
        const auto guarded = [&](std::int64_t task, Scratch& scratch) {
            try {
                run(task, progress, scratch);
            } catch (...) {
                progress.failed = true;  // nobody is to wait for it
                throw;
            }
        };
        tiles::run_tasks<Scratch>(tasks, guarded, 1, most_threads());
        if (needs_.x) grads_.x = x_sums_.to(type_);
        return grads_;
    }

private:
    using Tiles = LogitsTiles<Storage, Compute>;
    struct Scratch {
        typename Tiles::Scratch tiles;
        tiles::Buffer<Compute> gradients;  // [classes][R]
        tiles::Buffer<Compute> weights;    // [panels of D][classes][columns of the panel]
        tiles::Buffer<Compute> rows;       // gradients of some rows, [rows][classes]
        tiles::Buffer<float> products;
    };

    struct Progress {
        explicit Progress(std::size_t blocks) : turns(blocks) {}

        std::vector<std::atomic<std::int64_t>> turns;  // for each block of rows, the task that may add to it
        std::atomic<bool> failed = false;
    };

    // Threads whose memory makes a sixteenth of the logits; at least two.
    std::int64_t most_threads() const {
        const std::int64_t numbers = tile_classes * (depth_ + logits_.width);
        const auto of_thread = numbers * static_cast<std::int64_t>(sizeof(Compute));
        const auto all = logits_.rows * logits_.classes * static_cast<std::int64_t>(sizeof(Storage));
        return std::max<std::int64_t>(all / 16 / of_thread, 2);
    }

    void run(std::int64_t task, Progress& progress, Scratch& scratch) const {
        const std::int64_t first = task * tile_classes;
        const auto some =
            logits_.operand(first, std::min(tile_classes, logits_.classes - first), scratch.tiles);
        make_gradients(some, scratch);
        if (needs_.x) pack_classes(some, scratch);
        if (needs_.weight) make_weight(some, scratch);
        if (needs_.bias) make_bias(some, scratch);
        if (!needs_.x) return;
        std::int64_t row = 0;
        for (auto& turn : progress.turns) {
            while (turn.load(std::memory_order_acquire) != task) {
                if (progress.failed) return;
                std::this_thread::sleep_for(
                    std::chrono::microseconds(20));  // whoever is waited for may need the core
            }
            add_to_x(some, row, scratch);
            turn.store(task + 1, std::memory_order_release);
            row += block_rows;
        }
    }

    // One factor for all rows goes into them, too: they are float, or bfloat16 with float's exponents.
    void set_factors(const float* log_sum_exp, const RowScale& scale) {
        auto* const lse = factors_.mutable_data_ptr<float>();
        const double smoothing = params_.label_smoothing / static_cast<double>(logits_.classes);
        for (std::int64_t row = 0; row < logits_.rows; ++row) {
            const double of_row = scale.of(row), whole = static_cast<double>(log_sum_exp[row]);
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

    void make_gradients(const Classes<Compute>& some, Scratch& scratch) const {
        scratch.gradients.fit(tile_classes * depth_);
        logits_.over_rows(0, logits_.rows, some, scratch.tiles,
                          [&](std::int64_t row, const LogitsTile& tile) {
                              gradients_of(tile, some.first, row, scratch.gradients.data() + row);
                          });
    }

    // The weight as the right operand of the gradient of x.
    void pack_classes(const Classes<Compute>& some, Scratch& scratch) const {
        const std::int64_t depth = tiles::even(some.count);
        scratch.weights.fit(tile_classes * logits_.width);
        for (std::int64_t panel = 0; panel < panels(); ++panel) {
            const std::int64_t column = panel * panel_width;
            tiles::right(kernels_.panels, tiles::Source<Compute>{some.data + column, some.depth}, some.count,
                         width_of(panel), depth, scratch.weights.data() + column * depth);
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

    void make_weight(const Classes<Compute>& some, Scratch& scratch) const {
        auto* const to = mutable_data_of<Storage>(grads_.weight) + some.first * logits_.width;
        scratch.products.fit(tile_classes * panel_width);
        for (std::int64_t panel = 0; panel < panels(); ++panel) {
            const std::int64_t column = panel * panel_width, n = width_of(panel);
            const Compute* const x = x_.data() + column * depth_;
            if constexpr (std::is_same_v<Storage, float>) {
                deep_product(some.count, n, depth_, scratch.gradients.data(), depth_, x, to + column,
                             logits_.width, false);
            } else {
                float* const made = scratch.products.data();
                deep_product(some.count, n, depth_, scratch.gradients.data(), depth_, x, made, n, false);
                for (std::int64_t c = 0; c < some.count; ++c)
                    kernels_.rows.from_floats(made + c * n, n, type_, to + c * logits_.width + column);
            }
        }
    }

    void make_bias(const Classes<Compute>& some, Scratch& scratch) const {
        auto* const to = mutable_data_of<float>(grads_.bias) + some.first;
        for (std::int64_t c = 0; c < some.count; ++c) {
            const Compute* const row = scratch.gradients.data() + c * depth_;
            if constexpr (tiles::in_pairs<Compute>) {
                to[c] = kernels_.sum_bfloat16s(row, logits_.rows);
            } else {
                to[c] = kernels_.sum_floats(row, logits_.rows);
            }
        }
    }

    void add_to_x(const Classes<Compute>& some, std::int64_t row, Scratch& scratch) const {
        const std::int64_t rows = std::min(block_rows, logits_.rows - row), depth = tiles::even(some.count);
        scratch.rows.fit(block_rows * tile_classes);
        auto* const to = mutable_data_of<float>(x_sums_) + row * logits_.width;
        transpose(scratch.gradients.data() + row, some.count, rows, scratch.rows.data(), depth);
        for (std::int64_t panel = 0; panel < panels(); ++panel) {
            const std::int64_t column = panel * panel_width, n = width_of(panel);
            deep_product(rows, n, depth, scratch.rows.data(), depth, scratch.weights.data() + column * depth,
                         to + column, logits_.width, some.first > 0);
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
    tiles::Buffer<Compute> x_;  // [panels of D][R][columns of the panel]
    LossGrads grads_;
};

}  // namespace switchyard::fused

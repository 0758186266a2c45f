#include "optimizer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>

#include "common/on_cuda.h"
#include "common/serves_cpu.h"
#include "newton_schulz.h"
#include "stochastic_rows.h"

namespace switchyard {
namespace {

using fused::LambSums;
using fused::optimizer_rows;
using fused::Rows;
using fused::StepNumbers;

float* row_of(const at::Tensor& moment, std::int64_t begin) {
    return moment.defined() ? moment.mutable_data_ptr<float>() + begin : nullptr;
}

void do_step(OptimizerKind algorithm, const Rows& rows, const StepNumbers& numbers) {
    const auto& kernels = optimizer_rows();
    switch (algorithm) {
        case OptimizerKind::adam:
            return kernels.adam(rows, numbers);
        case OptimizerKind::sgd:
            return kernels.sgd(rows, numbers);
        case OptimizerKind::lion:
            return kernels.lion(rows, numbers);
        default:
            return kernels.adamw(rows, numbers);
    }
}

}  // namespace

FusedOptimizer::FusedOptimizer(const CreateInfo& info)
    : Optimizer(info),
      algorithm_(optimizer_request(info).algorithm),
      unscale_(optimizer_request(info).unscale),
      stochastic_(info.options.boolean("stochastic_rounding")),
      state_(algorithm_),
      on_cuda_(fused::made_on_cuda<Optimizer>(info)) {}

Verdict FusedOptimizer::supports(const OptimizerRequest& request, const HostInfo& host,
                                 const Options& options) {
    Verdict verdict;
    require_storage(verdict, request, host);
    REQUIRE(verdict, request.algorithm <= OptimizerKind::muon, Code::Algorithm, "algorithm",
            "adamw, adam, sgd, lion, lamb or muon", formula_name(request));
    REQUIRE(verdict, is_float_to_32_bits(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, bfloat16 or float16", name(request.gradient_dtype));
    REQUIRE(verdict, request.device != Device::cuda || !options.boolean("stochastic_rounding"), Code::Option,
            "stochastic_rounding", "false on cuda, where the kernels round to the nearest", "true",
            "set optimizer.options.fused.stochastic_rounding = false, or run.device = \"cpu\"");
    return verdict;
}

StepNumbers FusedOptimizer::numbers_of(const HyperParameters& hyper, double lr_factor, float factor) const {
    const double lr = hyper.lr * lr_factor;
    const auto t = static_cast<double>(state_.step);
    StepNumbers numbers;
    numbers.gradient_factor = factor;
    numbers.lr = static_cast<float>(lr);
    numbers.keep = static_cast<float>(1.0 - lr * hyper.weight_decay);
    numbers.weight_decay = static_cast<float>(hyper.weight_decay);
    numbers.beta1 = static_cast<float>(hyper.beta1);
    numbers.rest1 = static_cast<float>(1.0 - hyper.beta1);
    numbers.beta2 = static_cast<float>(hyper.beta2);
    numbers.rest2 = static_cast<float>(1.0 - hyper.beta2);
    numbers.unbias1 = static_cast<float>(1.0 / (1.0 - std::pow(hyper.beta1, t)));
    numbers.unbias2 = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(hyper.beta2, t)));
    numbers.eps = static_cast<float>(hyper.eps);
    numbers.momentum = static_cast<float>(hyper.momentum);
    numbers.rest_momentum = static_cast<float>(1.0 - hyper.momentum);
    numbers.nesterov = hyper.nesterov;
    return numbers;
}

// kernel(rows, numbers) on all of a piece, as floats.
template <class Kernel>
void FusedOptimizer::on_rows(const Sweep& all, const SweepPiece& piece, const Kernel& kernel) const {
    const auto& tensor = all.tensors[piece.tensor];
    const auto& moments = state_[tensor.index];
    update_piece(tensor, piece, optimizer_rows().functions,
                 [&](float* w, const float* g, std::int64_t begin, std::int64_t n) {
                     kernel(Rows{w, g, row_of(moments.first, begin), row_of(moments.second, begin), n},
                            all.numbers[piece.tensor]);
                 });
}

void FusedOptimizer::elementwise(const Sweep& all) const {
    sweep(all.pieces, [&](std::size_t, const SweepPiece& piece) {
        on_rows(all, piece,
                [&](const Rows& rows, const StepNumbers& numbers) { do_step(algorithm_, rows, numbers); });
    });
}

// The trust ratio needs the whole tensor: one sweep for the moments and the norms, one for the step, which
// makes the direction again from the moments.
void FusedOptimizer::lamb(const Sweep& all) const {
    const auto& kernels = optimizer_rows();
    std::vector<LambSums> sums(all.pieces.size());
    sweep(all.pieces, [&](std::size_t i, const SweepPiece& piece) {
        on_rows(all, piece, [&](const Rows& rows, const StepNumbers& numbers) {
            const LambSums part = kernels.lamb_moments(rows, numbers);
            sums[i].w += part.w;
            sums[i].direction += part.direction;
        });
    });
    std::vector<LambSums> totals(all.tensors.size());
    for (std::size_t i = 0; i < all.pieces.size(); ++i) {
        totals[all.pieces[i].tensor].w += sums[i].w;
        totals[all.pieces[i].tensor].direction += sums[i].direction;
    }
    sweep(all.pieces, [&](std::size_t, const SweepPiece& piece) {
        const LambSums& total = totals[piece.tensor];
        const bool both = total.w > 0.0 && total.direction > 0.0;
        const auto trust = static_cast<float>(both ? std::sqrt(total.w / total.direction) : 1.0);
        on_rows(all, piece, [&](const Rows& rows, const StepNumbers& numbers) {
            kernels.lamb_step(rows, numbers, trust);
        });
    });
}

// All others in one sweep, then matrix after matrix: the products of each are parallel, and only one
// direction is in memory.
void FusedOptimizer::muon(const Sweep& all) const {
    Sweep others{all.tensors, {}, all.numbers};
    const auto is_matrix = [&](std::size_t tensor) {
        return fused::is_muon_matrix(algorithm_, all.tensors[tensor].parameter->value);
    };
    for (const auto& piece : all.pieces) {
        if (!is_matrix(piece.tensor)) others.pieces.push_back(piece);
    }
    elementwise(others);
    for (std::size_t i = 0; i < all.tensors.size(); ++i) {
        if (is_matrix(i) && all.tensors[i].count > 0) muon_matrix(all, i);
    }
}

void FusedOptimizer::muon_matrix(const Sweep& all, std::size_t tensor) const {
    const auto& kernels = optimizer_rows();
    const auto& value = all.tensors[tensor].parameter->value;
    const auto& numbers = all.numbers[tensor];
    auto pieces = pieces_of({all.tensors[tensor]});
    for (auto& piece : pieces) piece.tensor = tensor;

    auto direction = at::empty_strided(value.sizes(), value.strides(), at::dtype(at::kFloat));
    float* const row = direction.mutable_data_ptr<float>();
    const auto& given = all.tensors[tensor];
    const auto type = given.gradient.scalar_type();
    float* const buffer = state_[given.index].first.mutable_data_ptr<float>();
    std::vector<double> squares(pieces.size());
    sweep(pieces, [&](std::size_t i, const SweepPiece& piece) {
        // The direction's row takes the gradient as floats first.
        float* const d = row + piece.begin;
        kernels.functions.to_floats(type, row_at(type, given.gradient_data, piece.begin), piece.count, d);
        squares[i] = kernels.muon_direction({d, d, buffer + piece.begin, nullptr, piece.count}, numbers);
    });
    double sum = 0.0;
    for (const double part : squares) sum += part;

    const auto matrix = direction.reshape({value.size(0), -1});
    const auto update = fused::newton_schulz(matrix, std::sqrt(sum)).reshape(value.sizes());
    direction.copy_(update);
    const double shape = static_cast<double>(matrix.size(0)) / static_cast<double>(matrix.size(1));
    const auto trust = static_cast<float>(std::sqrt(std::max(1.0, shape)));
    sweep(pieces, [&](std::size_t, const SweepPiece& piece) {
        update_piece(given, piece, kernels.functions,
                     [&](float* w, const float*, std::int64_t begin, std::int64_t n) {
                         kernels.muon_step({w, row + begin, nullptr, nullptr, n}, numbers, trust);
                     });
    });
}

// A sweep of its own: whoever does not ask for it pays nothing.
void FusedOptimizer::round_by_chance(const Sweep& all) const {
    const auto seed = fused::stochastic_seed(state_.step);
    sweep(all.pieces, [&](std::size_t, const SweepPiece& piece) {
        const auto& tensor = all.tensors[piece.tensor];
        const bool rounds =
            tensor.master_data != nullptr && tensor.parameter->value.scalar_type() == at::kBFloat16;
        if (!rounds) return;
        const auto part =
            parts_.empty() ? ParameterPart{static_cast<std::int64_t>(tensor.index)} : parts_[tensor.index];
        auto* const values = static_cast<std::uint16_t*>(tensor.value_data);
        const std::int64_t end = piece.begin + piece.count;
        for (std::int64_t begin = piece.begin; begin < end; begin += fused::stochastic_row) {
            const std::int64_t n = std::min(fused::stochastic_row, end - begin);
            const auto row = static_cast<std::uint32_t>((part.begin + begin) / fused::stochastic_row);
            fused::round_stochastically(tensor.master_data + begin, n, seed,
                                        static_cast<std::uint32_t>(part.index), row, values + begin);
        }
    });
}

std::int64_t FusedOptimizer::part_alignment() const {
    if (!steps_values_alone(algorithm_)) return 0;
    return stochastic_ ? fused::stochastic_row : vector_alignment;
}

void FusedOptimizer::bind_parts(const std::vector<ParameterGroup>& groups,
                                const std::vector<ParameterPart>& parts) {
    state_.bind(groups);
    parts_ = parts;
}

StepResult FusedOptimizer::step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                                     std::optional<double> known_norm) {
    const at::NoGradGuard no_grad;
    auto begun = begin_step("fused", groups, params, unscale_, optimizer_rows().functions, known_norm);
    if (!begun.scale.finite) return begun.result;

    ++state_.step;
    const double lr_factor = scalar_or(params.lr_factor_tensor, 1.0);
    Sweep all{std::move(begun.tensors), std::move(begun.pieces), {}};
    for (const auto& tensor : all.tensors)
        all.numbers.push_back(numbers_of(*tensor.hyper, lr_factor, begun.scale.factor));
    executed();
    if (algorithm_ == OptimizerKind::lamb) {
        lamb(all);
    } else if (algorithm_ == OptimizerKind::muon) {
        muon(all);
    } else {
        elementwise(all);
    }
    if (stochastic_) round_by_chance(all);
    return begun.result;
}

}  // namespace switchyard

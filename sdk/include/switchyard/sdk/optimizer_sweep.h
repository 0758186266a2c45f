// One parallel sweep over all tensors of an optimizer's step, whatever their sizes. Since 1.0.
//
// Tensors are cut into pieces of at most `sweep_piece` values; threads take the next piece as they become
// free. What a piece yields is kept by its number and summed in that order, so that results are the same bits
// whatever the threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/sdk/cpu/row_functions.h>
#include <switchyard/sdk/optimizer_groups.h>

namespace switchyard {

constexpr std::int64_t sweep_piece = 32768;  // a multiple of 256

// A parameter that has a gradient in this step.
struct StepTensor {
    const Parameter* parameter = nullptr;
    const HyperParameters* hyper = nullptr;
    std::size_t index = 0;  // of the parameter, over all groups
    at::Tensor gradient;    // in memory as the parameter is
    std::int64_t count = 0;
    const void* gradient_data = nullptr;
    void* value_data = nullptr;
    float* master_data = nullptr;  // nullptr: none
};

struct SweepPiece {
    std::size_t tensor = 0;
    std::int64_t begin = 0, count = 0;  // in the order of memory
};

inline std::vector<StepTensor> tensors_of_step(const char* who, const std::vector<ParameterGroup>& groups) {
    std::vector<StepTensor> tensors;
    std::size_t index = 0;
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const std::size_t own = index++;
            if (!parameter.gradient.defined()) continue;
            StepTensor tensor{&parameter, &group.hyper, own, gradient_as_value(who, parameter)};
            tensor.count = parameter.value.numel();
            tensor.gradient_data = tensor.gradient.const_data_ptr();
            tensor.value_data = parameter.value.mutable_data_ptr();
            if (parameter.master.defined()) tensor.master_data = parameter.master.mutable_data_ptr<float>();
            tensors.push_back(std::move(tensor));
        }
    }
    return tensors;
}

inline std::vector<SweepPiece> pieces_of(const std::vector<StepTensor>& tensors) {
    std::vector<SweepPiece> pieces;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        for (std::int64_t begin = 0; begin < tensors[i].count; begin += sweep_piece)
            pieces.push_back({i, begin, std::min(sweep_piece, tensors[i].count - begin)});
    }
    return pieces;
}

// do_piece(number, piece) for each, in one parallel region. It must not throw.
template <class DoPiece>
void sweep(const std::vector<SweepPiece>& pieces, const DoPiece& do_piece) {
    std::atomic<std::size_t> next{0};
    const auto work = [&](std::int64_t, std::int64_t) {
        for (std::size_t i = next++; i < pieces.size(); i = next++) do_piece(i, pieces[i]);
    };
    const auto threads =
        std::min<std::int64_t>(at::get_num_threads(), static_cast<std::int64_t>(pieces.size()));
    if (threads <= 1) return work(0, 1);
    at::parallel_for(0, threads, 1, work);
}

// update(w, g, begin, n) on floats, for all of the piece: in place where w and g are float32, else through
// the cache in rows of 2048. w is the master weight where there is one, and the value is its rounding.
template <class Update>
void update_piece(const StepTensor& tensor, const SweepPiece& piece, const RowFunctions& rows,
                  const Update& update) {
    constexpr std::int64_t row = 2048;
    const auto value_type = tensor.parameter->value.scalar_type();
    const auto gradient_type = tensor.gradient.scalar_type();
    const bool float_gradient = gradient_type == at::kFloat;
    float* const floats = tensor.master_data != nullptr ? tensor.master_data
                          : value_type == at::kFloat    ? static_cast<float*>(tensor.value_data)
                                                        : nullptr;
    const bool rounds = floats != tensor.value_data;
    const std::int64_t step = float_gradient && !rounds ? piece.count : row;
    alignas(64) float w_row[row];
    alignas(64) float g_row[row];
    for (std::int64_t begin = piece.begin; begin < piece.begin + piece.count; begin += step) {
        const std::int64_t n = std::min(step, piece.begin + piece.count - begin);
        const void* const given = row_at(gradient_type, tensor.gradient_data, begin);
        const auto* g = static_cast<const float*>(given);
        if (!float_gradient) rows.to_floats(gradient_type, given, n, g_row), g = g_row;
        void* const value = const_cast<void*>(row_at(value_type, tensor.value_data, begin));
        float* w = floats != nullptr ? floats + begin : w_row;
        if (floats == nullptr) rows.to_floats(value_type, value, n, w);
        update(w, g, begin, n);
        if (rounds) rows.from_floats(w, n, value_type, value);
    }
}

inline double scalar_or(const at::Tensor& tensor, double number) {
    return tensor.defined() ? tensor.item<double>() : number;
}

// What unscaling and clipping come to: one factor on every gradient.
struct GradientScale {
    double norm = 0.0;  // of the unscaled gradients; not taken where neither was asked for
    bool finite = true;
    float factor = 1.0F;
};

// `known_norm`: of all gradients after unscaling, which are finite; without it is taken here.
inline GradientScale scale_of(const std::vector<StepTensor>& tensors, const std::vector<SweepPiece>& pieces,
                              const StepParams& params, bool look, const RowFunctions& rows,
                              std::optional<double> known_norm) {
    GradientScale result;
    const double inverse = 1.0 / scalar_or(params.grad_scale_tensor, params.grad_scale);
    result.factor = static_cast<float>(inverse);
    if (!look) return result;
    const auto clip = [&] {
        if (params.max_grad_norm > 0.0)
            result.factor =
                static_cast<float>(inverse * std::min(1.0, params.max_grad_norm / (result.norm + 1e-6)));
        return result;
    };
    if (known_norm) {
        result.norm = *known_norm;
        return clip();
    }
    std::vector<double> sums(pieces.size());
    sweep(pieces, [&](std::size_t i, const SweepPiece& piece) {
        const auto& tensor = tensors[piece.tensor];
        const auto type = tensor.gradient.scalar_type();
        sums[i] = rows.squares(type, row_at(type, tensor.gradient_data, piece.begin), piece.count);
    });
    double sum = 0.0;
    for (const double part : sums) sum += part;
    result.finite = std::isfinite(sum);
    result.norm = std::sqrt(sum) * inverse;
    return clip();
}

// What every step begins with: its tensors, cut into pieces; the factor on their gradients; and what the
// caller is told. Where that is not finite (scale.finite), nothing may be changed.
struct BegunStep {
    std::vector<StepTensor> tensors;
    std::vector<SweepPiece> pieces;
    GradientScale scale;
    StepResult result;
};

// `unscales`: the request asked for unscaling (OptimizerRequest::unscale). `known_norm`: of a
// ShardedOptimizer. Throws what gradient_as_value throws.
inline BegunStep begin_step(const char* who, const std::vector<ParameterGroup>& groups,
                            const StepParams& params, bool unscales, const RowFunctions& rows,
                            std::optional<double> known_norm = std::nullopt) {
    BegunStep begun;
    begun.tensors = tensors_of_step(who, groups);
    begun.pieces = pieces_of(begun.tensors);
    const bool unscale = unscales || params.grad_scale != 1.0 || params.grad_scale_tensor.defined();
    const bool look = unscale || params.max_grad_norm > 0.0;
    begun.scale = scale_of(begun.tensors, begun.pieces, params, look, rows, known_norm);
    const auto scalar = [](double value) { return at::scalar_tensor(value, at::dtype(at::kFloat)); };
    if (look) begun.result.grad_norm = scalar(begun.scale.norm);
    if (unscale) begun.result.found_inf = scalar(begun.scale.finite ? 0.0 : 1.0);
    return begun;
}

}  // namespace switchyard

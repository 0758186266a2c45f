#include "optimizer.h"

#include <cmath>
#include <utility>

#include <ATen/core/grad_mode.h>

#include <switchyard/sdk/cuda/part.h>
#include <switchyard/sdk/cuda/serves.h>

namespace switchyard {
namespace {

using optim8bit::block;
using optim8bit::block_kernels;
using optim8bit::Chance;
using optim8bit::Codes;
using optim8bit::Moment;
using optim8bit::StepNumbers;

Codes codes_from(const Moment& moment, std::int64_t begin) {
    if (!moment.values.defined()) return {};
    return {moment.values.mutable_data_ptr<std::uint8_t>() + begin,
            moment.largest.mutable_data_ptr<float>() + begin / block};
}

}  // namespace

Optim8Bit::Optim8Bit(const CreateInfo& info)
    : Optimizer(info),
      algorithm_(optimizer_request(info).algorithm),
      unscale_(optimizer_request(info).unscale),
      state_(algorithm_, {info.options.integer("min_8bit_size"), info.options.list("keep_32bit")}) {
    chance_.on = info.options.boolean("stochastic_rounding");
    chance_.seed = static_cast<std::uint64_t>(info.options.integer("seed"));
    using Make = Optimizer*(const CreateInfo&);
    if (info.device() == Device::cuda) on_cuda_.reset(sdk::cuda_part<Make>()(info));
}

Verdict Optim8Bit::supports(const OptimizerRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    if (request.device == Device::cuda)
        require_cuda_part(verdict, request, host, SWITCHYARD_PLUGIN_CUDA == 1);
    REQUIRE(verdict, request.algorithm == OptimizerKind::adamw || request.algorithm == OptimizerKind::lion,
            Code::Algorithm, "algorithm", "adamw or lion", formula_name(request));
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    REQUIRE(verdict, is_float_to_32_bits(request.gradient_dtype), Code::DType, "gradient_dtype",
            "float32, bfloat16 or float16", name(request.gradient_dtype));
    return verdict;
}

StepNumbers Optim8Bit::numbers_of(const HyperParameters& hyper, double lr_factor, float factor) const {
    const double lr = hyper.lr * lr_factor;
    const auto t = static_cast<double>(state_.step);
    const bool adamw = algorithm_ == OptimizerKind::adamw;
    StepNumbers numbers;
    numbers.gradient_factor = factor;
    numbers.keep = static_cast<float>(1.0 - lr * hyper.weight_decay);
    numbers.beta1 = static_cast<float>(hyper.beta1);
    numbers.rest1 = static_cast<float>(1.0 - hyper.beta1);
    numbers.beta2 = static_cast<float>(hyper.beta2);
    numbers.rest2 = static_cast<float>(1.0 - hyper.beta2);
    numbers.rate = static_cast<float>(adamw ? lr / (1.0 - std::pow(hyper.beta1, t)) : lr);
    numbers.root = static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(hyper.beta2, t)));
    numbers.eps = static_cast<float>(hyper.eps);
    return numbers;
}

void Optim8Bit::update(const StepTensor& tensor, const SweepPiece& piece, const StepNumbers& numbers) {
    const auto& kernels = block_kernels();
    const auto& own = state_[tensor.index];
    const bool adamw = algorithm_ == OptimizerKind::adamw;
    update_piece(tensor, piece, kernels.rows,
                 [&](float* w, const float* g, std::int64_t begin, std::int64_t n) {
                     if (own.wide) {
                         float* const m = own.first.values.mutable_data_ptr<float>() + begin;
                         if (!adamw) return kernels.lion_floats(w, g, n, m, numbers);
                         float* const v = own.second.values.mutable_data_ptr<float>() + begin;
                         return kernels.adamw_floats(w, g, n, m, v, numbers);
                     }
                     Chance chance = chance_;
                     chance.step = static_cast<std::uint32_t>(state_.step);
                     chance.parameter = static_cast<std::uint32_t>(own.part.index);
                     chance.first_block = static_cast<std::uint32_t>((own.part.begin + begin) / block);
                     const Codes m = codes_from(own.first, begin);
                     if (!adamw) return kernels.lion_codes(w, g, n, m, numbers, chance);
                     kernels.adamw_codes(w, g, n, m, codes_from(own.second, begin), numbers, chance);
                 });
}

StepResult Optim8Bit::step_with(std::vector<ParameterGroup>& groups, const StepParams& params,
                                std::optional<double> known_norm) {
    const at::NoGradGuard no_grad;
    const auto begun = begin_step("optim8bit", groups, params, unscale_, block_kernels().rows, known_norm);
    if (!begun.scale.finite) return begun.result;

    ++state_.step;
    const double lr_factor = scalar_or(params.lr_factor_tensor, 1.0);
    std::vector<StepNumbers> numbers;
    for (const auto& tensor : begun.tensors)
        numbers.push_back(numbers_of(*tensor.hyper, lr_factor, begun.scale.factor));
    executed();
    sweep(begun.pieces, [&](std::size_t, const SweepPiece& piece) {
        update(begun.tensors[piece.tensor], piece, numbers[piece.tensor]);
    });
    return begun.result;
}

}  // namespace switchyard

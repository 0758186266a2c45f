#include "normalization.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rms_norm.h>

#include <switchyard/sdk/serves.h>

#include "as_type.h"

namespace switchyard {
namespace {

// With parameters wider than x LibTorch's layer_norm has a forward on CPU only, and sums the parameters'
// gradients up in the dtype of x; with parameters of 16 bits it keeps mean and rstd for backward in 16 bits
// on the CPU, although statistics are float32's. Then everything is float32, as torch.autocast has it.
at::Tensor normalize(const at::Tensor& x, const NormalizationInputs& inputs,
                     const NormalizationParams& params) {
    const std::int64_t width = x.size(-1);
    if (params.norm == NormKind::rms_norm) return at::rms_norm(x, width, inputs.weight, params.eps);
    const bool narrow = x.scalar_type() != inputs.weight.scalar_type();
    const bool followed =
        at::GradMode::is_enabled() && (x.requires_grad() || inputs.weight.requires_grad() ||
                                       (inputs.beta.defined() && inputs.beta.requires_grad()));
    if (followed && x.is_cpu() && x.element_size() == 2) {
        const auto wide = [](const at::Tensor& t) { return t.defined() ? t.to(at::kFloat) : t; };
        return as_type(at::layer_norm(wide(x), width, wide(inputs.weight), wide(inputs.beta), params.eps), x);
    }
    const auto as = narrow && (followed || !x.is_cpu()) ? as_type(x, inputs.weight) : x;
    return as_type(at::layer_norm(as, width, inputs.weight, inputs.beta, params.eps), x);
}

}  // namespace

Verdict TorchNormalization::supports(const NormalizationRequest& request, const HostInfo& host,
                                     const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.parameter_dtype == request.dtype || request.parameter_dtype == DType::float32,
            Code::DType, "parameter_dtype", "the dtype of x, or float32", name(request.parameter_dtype));
    REQUIRE(verdict, request.width.min >= 1, Code::Width, "width", "1 or more", request.width);
    // LibTorch takes x * rstd - mean * rstd, which is not 0 where x is the mean, but rounding times rstd.
    REQUIRE(verdict, request.norm != NormKind::layer_norm || !request.needs_grad || request.width.min != 1,
            Code::Width, "width",
            "2 or more with gradients (at::layer_norm's of one value are rounding errors)", request.width);
    return verdict;
}

NormalizationOutputs TorchNormalization::forward(const NormalizationInputs& inputs,
                                                 const NormalizationParams& params, Saved*) {
    NormalizationOutputs outputs;
    auto sum = add_bias(inputs.x, inputs.bias);
    if (params.dropout.active()) sum = at::dropout(sum, params.dropout.p, true);
    if (inputs.residual.defined()) sum = at::add(inputs.residual, sum);
    if (inputs.bias.defined() || inputs.residual.defined() || params.dropout.active()) outputs.sum = sum;
    executed();
    outputs.y = normalize(sum, inputs, params);
    return outputs;
}

}  // namespace switchyard

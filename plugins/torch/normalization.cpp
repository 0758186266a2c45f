#include "normalization.h"

#include <ATen/ops/add.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/rms_norm.h>

#include "as_type.h"
#include "serves.h"

namespace switchyard {

Verdict TorchNormalization::supports(const NormalizationRequest& request, const HostInfo& host,
                                     const Options&) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, request.parameter_dtype == request.dtype || request.parameter_dtype == DType::float32,
            Code::DType, "parameter_dtype", "the dtype of x, or float32", name(request.parameter_dtype));
    REQUIRE(verdict,
            request.device == Device::cpu || request.norm == NormKind::rms_norm ||
                request.parameter_dtype == request.dtype,
            Code::DType, "parameter_dtype", "the dtype of x (at::layer_norm on cuda)",
            name(request.parameter_dtype));
    REQUIRE(verdict, request.width.min >= 1, Code::Width, "width", "1 or more", request.width);
    return verdict;
}

NormalizationOutputs TorchNormalization::forward(const NormalizationInputs& inputs,
                                                 const NormalizationParams& params, Saved*) {
    NormalizationOutputs outputs;
    auto sum = inputs.bias.defined() ? at::add(inputs.x, as_type(inputs.bias, inputs.x)) : inputs.x;
    if (params.dropout.active()) sum = at::dropout(sum, params.dropout.p, true);
    if (inputs.residual.defined()) sum = at::add(inputs.residual, sum);
    if (inputs.bias.defined() || inputs.residual.defined() || params.dropout.active()) outputs.sum = sum;
    executed();
    const std::int64_t width = sum.size(-1);
    outputs.y = params.norm == NormKind::layer_norm
                    ? at::layer_norm(sum, width, inputs.weight, inputs.beta, params.eps)
                    : at::rms_norm(sum, width, inputs.weight, params.eps);
    return outputs;
}

}  // namespace switchyard

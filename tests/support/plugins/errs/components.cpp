#include "components.h"

#include <cmath>
#include <new>
#include <stdexcept>

#include <ATen/ops/matmul.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/softmax.h>

#include <switchyard/interfaces/require.h>

using namespace switchyard;

Verdict Unmasked::supports(const AttentionRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype", "float32", name(request.dtype));
    return verdict;
}

AttentionOutputs Unmasked::forward(const AttentionInputs& inputs, const AttentionParams&, Saved*) {
    executed();
    const double scale = 1.0 / std::sqrt(static_cast<double>(inputs.q.size(-1)));
    const at::Tensor scores = at::matmul(inputs.q, inputs.k.transpose(-1, -2)).mul(scale);
    return {at::matmul(at::softmax(scores, -1), inputs.v), {}};
}

Verdict Throwing::supports(const AttentionRequest&, const HostInfo&, const Options&) { return {}; }

AttentionOutputs Throwing::forward(const AttentionInputs& inputs, const AttentionParams& params, Saved*) {
    executed();
    if (params.mask.kinds.has(MaskKind::sliding_window)) throw std::bad_alloc();
    if (params.mask.kinds.has(MaskKind::causal)) throw std::runtime_error("the kernel is out of order");
    return {inputs.q.clone(), {}};
}

Tires::Tires(const CreateInfo& info)
    : Activation(info), scale_(info.request != nullptr && info.request->phase == Phase::decode ? 1.1 : 1.0) {}

Verdict Tires::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.activation == ActivationKind::relu, Code::Algorithm, "activation", "relu",
            name(request.activation));
    return verdict;
}

at::Tensor Tires::forward(const ActivationInputs& inputs, const ActivationParams&, Saved*) {
    executed();
    const auto x = inputs.bias.defined() ? inputs.x.add(inputs.bias) : inputs.x;
    return at::relu(x).mul_(scale_);
}

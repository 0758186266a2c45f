#include "components.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/zeros.h>

#include <switchyard/interfaces/require.h>

using namespace switchyard;

namespace {

Verdict plain_attention(const AttentionRequest& request) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, request.dtype == DType::float32 || request.dtype == DType::float64, Code::DType, "dtype",
            "float32 or float64", name(request.dtype));
    REQUIRE(verdict, request.layout == Layout::padded, Code::Layout, "layout", "padded",
            name(request.layout));
    REQUIRE(verdict, request.masks.empty(), Code::Mask, "masks", "none", "some");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    REQUIRE(verdict, request.kv_heads == request.heads, Code::Heads, "kv_heads", "as many as heads",
            request.kv_heads);
    REQUIRE(verdict, !request.paged_cache, Code::Phase, "paged_cache", "a contiguous cache", "pages");
    return verdict;
}

Verdict plain_activation(const ActivationRequest& request, const char* kinds, bool takes_kind) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, takes_kind, Code::Algorithm, "activation", kinds, name(request.activation));
    REQUIRE(verdict, !request.input_bias, Code::Fusion, "input_bias", "no bias", "a bias");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    return verdict;
}

double scale_of(const AttentionParams& params, const at::Tensor& q) {
    return params.scale > 0.0 ? params.scale : 1.0 / std::sqrt(static_cast<double>(q.size(-1)));
}

at::Tensor probabilities(const AttentionInputs& inputs, const AttentionParams& params) {
    return (inputs.q.matmul(inputs.k.transpose(-2, -1)) * scale_of(params, inputs.q)).softmax(-1);
}

}  // namespace

KernelAttention::KernelAttention(const CreateInfo& info)
    : Attention(info), variant_(info.variant == "doubled" ? "doubled" : "plain") {}

Verdict KernelAttention::supports(const AttentionRequest& request, const HostInfo&, const Options&) {
    return plain_attention(request);
}

AttentionOutputs KernelAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                          Saved* saved) {
    const at::Tensor p = probabilities(inputs, params);
    AttentionOutputs outputs;
    outputs.out = p.matmul(inputs.v);
    if (params.want_lse) {
        outputs.lse = (inputs.q.matmul(inputs.k.transpose(-2, -1)) * scale_of(params, inputs.q))
                          .logsumexp(-1)
                          .to(at::kFloat);
    }
    if (saved != nullptr) {
        saved->input(inputs.q);
        saved->input(inputs.k);
        saved->input(inputs.v);
        saved->extra(p);
    }
    executed(variant_);
    return outputs;
}

AttentionGrads KernelAttention::backward(const AttentionParams& params, const Saved& saved,
                                         const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const at::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &p = saved[3];
    const at::Tensor grad_p = grad_out.matmul(v.transpose(-2, -1));
    const at::Tensor grad_s = (grad_p - (grad_p * p).sum(-1, true)) * p * scale_of(params, q);
    AttentionGrads grads;
    if (needs.q) grads.q = grad_s.matmul(k);
    if (needs.k) grads.k = grad_s.transpose(-2, -1).matmul(q);
    if (needs.v) grads.v = p.transpose(-2, -1).matmul(grad_out);
    return grads;
}

Verdict RecomputeAttention::supports(const AttentionRequest& request, const HostInfo&, const Options&) {
    return plain_attention(request);
}

AttentionOutputs RecomputeAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                             Saved*) {
    executed();
    return {probabilities(inputs, params).matmul(inputs.v), {}};
}

Verdict AutogradActivation::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    const bool takes =
        request.activation == ActivationKind::relu || request.activation == ActivationKind::silu;
    return plain_activation(request, "relu or silu", takes);
}

at::Tensor AutogradActivation::forward(const ActivationInputs& inputs, const ActivationParams& params,
                                       Saved*) {
    executed();
    return params.activation == ActivationKind::relu ? at::relu(inputs.x) : at::silu(inputs.x);
}

Verdict RoughActivation::supports(const ActivationRequest& request, const HostInfo&, const Options&) {
    Verdict verdict = plain_activation(request, "relu", request.activation == ActivationKind::relu);
    REQUIRE(verdict, request.allow_reduced, Code::Accuracy, "allow_reduced", "true", "false");
    REQUIRE(verdict, !request.needs_grad, Code::Gradient, "needs_grad", "false", "true");
    return verdict;
}

at::Tensor RoughActivation::forward(const ActivationInputs& inputs, const ActivationParams&, Saved*) {
    executed();
    return at::relu(inputs.x).to(at::kBFloat16).to(inputs.x.scalar_type());
}

Verdict InOrderLoader::supports(const DataLoaderRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.layout == Layout::padded, Code::Layout, "layout", "padded",
            name(request.layout));
    return verdict;
}

void InOrderLoader::start(const SampleSource& source, const LoaderParams& params) {
    source_ = &source;
    params_ = params;
}

std::int64_t InOrderLoader::batches(std::int64_t) const {
    return (source_->size() + params_.batch_size - 1) / params_.batch_size;
}

bool InOrderLoader::next(Batch& batch) {
    if (position_.batch == batches(position_.epoch)) {
        position_ = {position_.epoch + 1, 0};
        return false;
    }
    const std::int64_t first = position_.batch++ * params_.batch_size;
    const std::int64_t count = std::min(params_.batch_size, source_->size() - first);
    std::int64_t longest = 0;
    for (std::int64_t i = 0; i < count; ++i) longest = std::max(longest, source_->length(first + i));
    batch = {};
    batch.source.ids = at::full({count, longest}, params_.pad_id, at::kLong);
    batch.source.tokens.lengths = at::zeros({count}, at::kInt);
    for (std::int64_t i = 0; i < count; ++i) {
        const Sample sample = source_->get(first + i, position_.epoch);
        for (std::size_t j = 0; j < sample.ids.size(); ++j)
            batch.source.ids[i][static_cast<std::int64_t>(j)] = sample.ids[j];
        batch.source.tokens.lengths[i] = static_cast<std::int64_t>(sample.ids.size());
        batch.source.count += static_cast<std::int64_t>(sample.ids.size());
        batch.samples.push_back(first + i);
    }
    executed();
    return true;
}

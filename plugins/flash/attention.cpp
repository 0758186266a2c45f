#include "attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/sdk/saved_attention.h>
#include <switchyard/sdk/serves.h>

#include "passes.h"

namespace switchyard {
namespace {

at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

// In the order of strides of `like`, but always with dense rows: an expanded tensor has a smaller stride than 1.
at::Tensor empty_with_dense_rows(const at::Tensor& like, at::IntArrayRef sizes) {
    const at::Tensor made = reference::empty_in_order_of(like, sizes);
    return made.stride(-1) == 1 ? made : at::empty(sizes, like.options());
}

AttentionInputs with_dense_rows(const AttentionInputs& inputs) {
    AttentionInputs dense = inputs;
    dense.q = with_dense_rows(inputs.q);
    dense.k = with_dense_rows(inputs.k);
    dense.v = with_dense_rows(inputs.v);
    return dense;
}

// A log-sum-exp [B, H, N] or [T, H] as rows of one number.
flash::Rows lse_rows(const at::Tensor& lse, Layout layout) {
    return flash::rows_of(lse.unsqueeze(-1), layout);
}

// From the sums over distances, [heads, span], to those over buckets.
at::Tensor bucket_gradient(const flash::Call& call, const std::vector<double>& distances,
                           const at::Tensor& table, const AttentionMask& mask) {
    const at::Tensor sums = at::zeros(table.sizes(), table.options().dtype(at::kDouble));
    auto* const data = sums.mutable_data_ptr<double>();
    for (std::int64_t i = 0; i < call.distance_span; ++i) {
        const auto bucket = reference::relative_bucket(
            call.first_distance + i, table.size(0), mask.relative_bidirectional, mask.relative_max_distance);
        for (std::int64_t head = 0; head < call.heads; ++head)
            data[bucket * call.heads + head] += distances[head * call.distance_span + i];
    }
    return sums.to(table.scalar_type());
}

}  // namespace

Verdict FlashAttention::supports(const AttentionRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict,
            request.dtype == DType::float32 || request.dtype == DType::bfloat16 ||
                request.dtype == DType::float16,
            Code::DType, "dtype", "float32, bfloat16 or float16", name(request.dtype));
    require_any_mask(verdict, request);
    REQUIRE(verdict, !request.bias_gradient || !request.masks.has(MaskKind::dense_bias), Code::Gradient,
            "bias_gradient", "false with a dense bias", "true",
            "a relative bias has its gradient; for a dense one take chunked");
    return verdict;
}

AttentionOutputs FlashAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved* saved) {
    reference::check_attention(inputs, params);
    executed();
    const AttentionInputs dense = with_dense_rows(inputs);
    auto sizes = inputs.q.sizes().vec();
    const at::Tensor lse =
        at::empty(inputs.q.sizes().slice(0, inputs.q.dim() - 1), inputs.q.options().dtype(at::kFloat));
    sizes.back() = inputs.v.size(-1);
    const at::Tensor out = empty_with_dense_rows(dense.q, sizes);
    const flash::Call call = flash::describe(dense, params);
    const auto pass = flash::is_decoding(call) ? flash::decode : flash::forward;
    pass(call, flash::rows_of(out, params.layout), lse_rows(lse, params.layout));
    return save_attention(saved, inputs, params, out, lse);
}

AttentionGrads FlashAttention::backward(const AttentionParams& params, const Saved& saved,
                                        const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const SavedAttention from = saved_attention(saved);
    const AttentionInputs inputs = with_dense_rows(from.inputs);
    const at::Tensor grad = with_dense_rows(grad_out);
    const flash::Call call = flash::describe(inputs, params);
    AttentionGrads grads;
    flash::BackwardRows rows;
    rows.out = flash::rows_of(from.out, params.layout);
    rows.grad_out = flash::rows_of(grad, params.layout);
    rows.lse = lse_rows(from.lse, params.layout);
    // Zeros: what lies past key_lengths is not visited.
    const auto make = [&](bool needed, const at::Tensor& input, at::Tensor& gradient, flash::Rows& to) {
        if (!needed) return;
        gradient = empty_with_dense_rows(input, input.sizes()).zero_();
        to = flash::rows_of(gradient, params.layout);
    };
    make(needs.q, inputs.q, grads.q, rows.dq);
    make(needs.k, inputs.k, grads.k, rows.dk);
    make(needs.v, inputs.v, grads.v, rows.dv);
    const auto distances = flash::backward(call, rows, needs.relative_bias && call.has_relative);
    if (needs.relative_bias && call.has_relative)
        grads.relative_bias = bucket_gradient(call, distances, inputs.relative_bias, params.mask);
    return grads;
}

}  // namespace switchyard

#include "attention.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/sdk/cuda/part.h>
#include <switchyard/sdk/saved_attention.h>
#include <switchyard/sdk/serves.h>

#include "cuda/requests.h"
#include "passes.h"

namespace switchyard {
namespace {

at::Tensor with_dense_rows(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

// In the order of strides of `like`, but always with dense rows: an expanded tensor has a smaller stride than
// 1.
at::Tensor empty_with_dense_rows(const at::Tensor& like, at::IntArrayRef sizes) {
    const at::Tensor made = reference::empty_in_order_of(like, sizes);
    return made.stride(-1) == 1 ? made : at::empty(sizes, like.options());
}

AttentionInputs with_dense_rows(const AttentionInputs& inputs) {
    AttentionInputs dense = inputs;
    dense.q = with_dense_rows(inputs.q);
    if (inputs.k.defined()) dense.k = with_dense_rows(inputs.k);
    if (inputs.v.defined()) dense.v = with_dense_rows(inputs.v);
    return dense;
}

// Zeros of the bias' own size, and where in them an element of [B, H, N, M] is.
at::Tensor dense_gradient(const at::Tensor& bias, flash::BackwardRows& rows) {
    const at::Tensor gradient = at::zeros(bias.sizes(), bias.options().dtype(at::kFloat));
    rows.dense = gradient.mutable_data_ptr<float>();
    for (std::int64_t i = 1; i <= bias.dim(); ++i)
        rows.dense_stride[4 - i] = bias.size(-i) == 1 ? 0 : gradient.stride(-i);
    return gradient;
}

at::Tensor table_gradient(const std::vector<double>& sums, const at::Tensor& table) {
    const at::Tensor gradient = at::empty(table.sizes(), table.options().dtype(at::kDouble));
    std::copy(sums.begin(), sums.end(), gradient.mutable_data_ptr<double>());
    return gradient.to(table.scalar_type());
}

const AttentionRequest& request_of(const CreateInfo& info) {
    return KindTraits<Kind::attention>::request(*info.request);
}

}  // namespace

FlashAttention::FlashAttention(const CreateInfo& info)
    : Attention(info),
      why_not_captured_(request_of(info).layout == Layout::packed
                            ? "lengths of packed sequences are read on the host"
                            : "") {
    using Make = Attention*(const CreateInfo&);
    if (info.device() != Device::cuda) return;
    on_cuda_.reset(sdk::cuda_part<Make>()(info));
    computed_in_ = info.request->dtype == DType::bfloat16 ? "bf16, fp32 sums" : "fp16, fp32 sums";
}

Verdict FlashAttention::supports(const AttentionRequest& request, const HostInfo& host,
                                 const Options&) {
    if (request.device == Device::cuda)
        return flash_cuda::judge_on_cuda(request, host, SWITCHYARD_PLUGIN_CUDA == 1);
    Verdict verdict;
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    flash_cuda::require_masks(verdict, request);
    return verdict;
}

AttentionOutputs FlashAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved* saved) {
    if (on_cuda_) return on_cuda_->forward(inputs, params, saved);
    reference::check_attention(inputs, params);
    executed();
    const AttentionInputs dense = with_dense_rows(inputs);
    AttentionParams with = params;
    PagedCache pages;
    if (params.pages != nullptr) {
        pages = *params.pages;
        pages.k_pages = with_dense_rows(pages.k_pages);
        pages.v_pages = with_dense_rows(pages.v_pages);
        with.pages = &pages;
    }
    auto sizes = inputs.q.sizes().vec();
    sizes.back() = 2;
    const at::Tensor softmax = at::empty(sizes, inputs.q.options().dtype(at::kFloat));
    sizes.back() = params.pages == nullptr ? inputs.v.size(-1) : pages.v_pages.size(3);
    const at::Tensor out = empty_with_dense_rows(dense.q, sizes);
    flash::Call call = flash::describe(dense, with);
    const bool decodes = saved == nullptr && flash::is_decoding(call);
    flash::GatheredKeys gathered;
    if (params.pages != nullptr && !decodes) gathered = flash::gather_keys(call, pages);
    computed_in_ = decodes ? "fp32" : flash::multiplied_in(call.dtype);
    const auto pass = decodes ? flash::decode : flash::forward;
    pass(call, flash::rows_of(out, params.layout), flash::rows_of(softmax, params.layout));
    return save_attention(saved, inputs, params, out, softmax, call.score_unit());
}

AttentionGrads FlashAttention::backward(const AttentionParams& params, const Saved& saved,
                                        const at::Tensor& grad_out, const AttentionNeeds& needs) {
    if (on_cuda_) return on_cuda_->backward(params, saved, grad_out, needs);
    const SavedAttention from = saved_attention(saved);
    const AttentionInputs inputs = with_dense_rows(from.inputs);
    const at::Tensor grad = with_dense_rows(grad_out);
    const flash::Call call = flash::describe(inputs, params);
    computed_in_ = flash::multiplied_in(call.dtype);
    AttentionGrads grads;
    flash::BackwardRows rows;
    rows.out = flash::rows_of(from.out, params.layout);
    rows.grad_out = flash::rows_of(grad, params.layout);
    rows.softmax = flash::rows_of(from.softmax, params.layout);
    // Zeros: what lies past key_lengths is not visited.
    const auto make = [&](bool needed, const at::Tensor& input, at::Tensor& gradient, flash::Rows& to) {
        if (!needed) return;
        gradient = empty_with_dense_rows(input, input.sizes()).zero_();
        to = flash::rows_of(gradient, params.layout);
    };
    make(needs.q, inputs.q, grads.q, rows.dq);
    make(needs.k, inputs.k, grads.k, rows.dk);
    make(needs.v, inputs.v, grads.v, rows.dv);
    const bool table = needs.relative_bias && call.buckets > 0;
    at::Tensor dense;
    if (needs.dense_bias) dense = dense_gradient(inputs.dense_bias, rows);
    const auto sums = flash::backward(call, rows, table);
    if (table) grads.relative_bias = table_gradient(sums, inputs.relative_bias);
    if (dense.defined()) grads.dense_bias = dense.to(inputs.dense_bias.scalar_type());
    return grads;
}

}  // namespace switchyard

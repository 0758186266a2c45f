// What these functions take and return was read in LibTorch 2.11's ATen/native/transformers/cuda/attention.cu
// and attention_backward.cu.
#include "varlen.h"

#include <algorithm>
#include <optional>

#include <ATen/ops/_flash_attention_backward.h>
#include <ATen/ops/_flash_attention_forward.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/sdk/cuda/aligned_rows.h>
#include <switchyard/sdk/serves.h>

#include "requests.h"

namespace switchyard {
namespace {

constexpr MaskSet served = {MaskKind::documents, MaskKind::causal, MaskKind::sliding_window};

std::int64_t longest(const at::Tensor& cu_seqlens, const char* name, std::int64_t total) {
    const auto offsets = reference::sequence_offsets(cu_seqlens, name, total);
    std::int64_t most = 0;
    for (std::size_t i = 1; i < offsets.size(); ++i) most = std::max(most, offsets[i] - offsets[i - 1]);
    return most;
}

struct Window {
    std::optional<std::int64_t> left, right;
};
Window window_of(const AttentionMask& mask) {
    if (!mask.kinds.has(MaskKind::sliding_window)) return {};
    const auto side = [](std::int64_t width) { return std::clamp<std::int64_t>(width, -1, 1 << 30); };
    return {side(mask.window_left), side(mask.window_right)};
}

bool is_empty(const AttentionInputs& inputs) { return inputs.q.numel() == 0 || inputs.k.numel() == 0; }

}  // namespace

Verdict AtenVarlenAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    aten::require_common(verdict, request, host, 256);
    REQUIRE(verdict, request.layout == Layout::packed, Code::Layout, "layout",
            "packed (for padded batches take torch, which calls the same kernels)", name(request.layout));
    REQUIRE(verdict, request.masks.within(served), Code::Mask, "masks", to_text(served), request.masks);
    const DeviceInfo* const device = host.first(Device::cuda);
    const bool has_room =
        device == nullptr || device->compute_capability == 80 || device->compute_capability >= 90;
    REQUIRE(verdict, has_room || !request.needs_grad || request.head_dim.max <= 192, Code::HeadDim,
            "head_dim", "at most 192 with gradients on devices of 8.6 and 8.9 (shared memory)",
            request.head_dim);
    return verdict;
}

AttentionOutputs AtenVarlenAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                              Saved* saved) {
    reference::check_attention(inputs, params);
    executed();
    const AttentionMask& mask = params.mask;
    const std::int64_t longest_q = longest(mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    const std::int64_t longest_k = longest(mask.cu_seqlens_k, "cu_seqlens_k", inputs.k.size(0));
    at::Tensor out, lse_HT, random, unused;
    if (is_empty(inputs)) {
        out = at::zeros(inputs.q.sizes(), inputs.q.options());
        lse_HT = at::full({inputs.q.size(1), inputs.q.size(0)}, std::numeric_limits<double>::infinity(),
                          inputs.q.options().dtype(at::kFloat));
    } else {
        const Window window = window_of(mask);
        const at::Tensor cu_q = mask.cu_seqlens_q.to(at::kInt).contiguous(),
                         cu_k = mask.cu_seqlens_k.to(at::kInt).contiguous();
        auto result = at::_flash_attention_forward(
            with_aligned_rows(inputs.q), with_aligned_rows(inputs.k), with_aligned_rows(inputs.v), cu_q, cu_k,
            longest_q, longest_k, params.dropout.p, mask.kinds.has(MaskKind::causal), false,
            reference::attention_scale(params, inputs.q.size(-1)), window.left, window.right);
        out = std::get<0>(result);
        lse_HT = std::get<1>(result);
        random = std::get<2>(result);
        unused = std::get<3>(result);
    }
    if (saved != nullptr) {
        for (const auto* input : {&inputs.q, &inputs.k, &inputs.v}) saved->input(*input);
        saved->output(out);
        for (const auto& extra : {lse_HT, random, unused}) saved->extra(extra);
        saved->integers = {longest_q, longest_k};
    }
    return {out, params.want_lse ? aten::contract_lse(lse_HT).t().contiguous() : at::Tensor()};
}

AttentionGrads AtenVarlenAttention::backward(const AttentionParams& params, const Saved& saved,
                                             const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const AttentionInputs inputs{saved[0], saved[1], saved[2], {}, {}};
    AttentionGrads grads;
    if (is_empty(inputs)) {
        grads.q = at::zeros_like(inputs.q);
        grads.k = at::zeros_like(inputs.k);
        grads.v = at::zeros_like(inputs.v);
    } else {
        const AttentionMask& mask = params.mask;
        const Window window = window_of(mask);
        std::tie(grads.q, grads.k, grads.v) = at::_flash_attention_backward(
            with_aligned_rows(grad_out), with_aligned_rows(inputs.q), with_aligned_rows(inputs.k),
            with_aligned_rows(inputs.v), saved[3], saved[4], mask.cu_seqlens_q.to(at::kInt).contiguous(),
            mask.cu_seqlens_k.to(at::kInt).contiguous(), saved.integers.at(0), saved.integers.at(1),
            params.dropout.p, mask.kinds.has(MaskKind::causal), saved[5], saved[6],
            reference::attention_scale(params, inputs.q.size(-1)), window.left, window.right);
    }
    if (!needs.q) grads.q = at::Tensor();
    if (!needs.k) grads.k = at::Tensor();
    if (!needs.v) grads.v = at::Tensor();
    return grads;
}

}  // namespace switchyard

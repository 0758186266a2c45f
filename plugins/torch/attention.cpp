// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
//          T total queries  S total keys
#include "attention.h"

#include <algorithm>

#include <ATen/ops/cat.h>

#include <switchyard/reference/attention.h>
#include <switchyard/sdk/libtorch_products.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

using at::Tensor;

constexpr MaskSet served = {MaskKind::causal,         MaskKind::key_lengths, MaskKind::documents,
                            MaskKind::sliding_window, MaskKind::prefix,      MaskKind::alibi,
                            MaskKind::relative_bias,  MaskKind::dense_bias};

bool all_equal(const std::vector<std::int64_t>& numbers) {
    return std::adjacent_find(numbers.begin(), numbers.end(), std::not_equal_to<>()) == numbers.end();
}

// [T, H, D] as [1, H, T, D], so that one split gives what the kernel takes.
Tensor as_one_row(const Tensor& packed) { return packed.transpose(0, 1).unsqueeze(0); }

// [T, H, D] as [B, H, N, D] of B sequences of one length: a view whatever the strides.
Tensor as_rows(const Tensor& packed, std::int64_t sequences, std::int64_t length) {
    return packed.unflatten(0, {sequences, length}).transpose(1, 2);
}

void require_flash(Verdict& verdict, const AttentionRequest& request) {
    constexpr auto field = "variant";
    REQUIRE(verdict, request.device == Device::cpu, Code::Variant, field,
            "no variant on cuda but math: LibTorch picks the kernel", "flash");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout",
            "0 (LibTorch's flash kernel of the CPU has none)", request.dropout,
            "name no variant: LibTorch then takes its math kernel");
    REQUIRE(verdict, request.head_dim == request.v_head_dim, Code::HeadDim, "v_head_dim",
            "head_dim for the flash kernel", request.v_head_dim);
    REQUIRE(verdict, !request.bias_gradient, Code::Gradient, "bias_gradient",
            "false (the flash kernel has none for its mask)", "true");
    REQUIRE(verdict, request.q_length.min > 0 && request.kv_length.min > 0, Code::Sequence,
            "q_length, kv_length", "1 or more for the flash kernel", "0");
}

// "": they can be.
const char* why_not_captured(const AttentionRequest& request) {
    if (request.layout == Layout::packed) return "lengths of packed sequences are read on the host";
    const bool offsets = request.query_offsets && request.masks.has(MaskKind::causal);
    if (request.masks.within({MaskKind::causal}) && !offsets) return "";
    if (request.masks.within({MaskKind::causal}))
        return "a causal mask with query_offsets is looked through for rows without keys, on the host";
    return "a mask other than causal is looked through for rows without keys, on the host";
}

}  // namespace

Verdict TorchAttention::supports(const AttentionRequest& request, const HostInfo& host, const Options&,
                                 std::string_view variant) {
    Verdict verdict;
    require_native(verdict, request, host);
    REQUIRE(verdict, !request.masks.has(MaskKind::soft_cap), Code::Mask, "masks",
            "any but soft_cap (SDPA has none)", "soft_cap");
    REQUIRE(verdict, request.masks.has(MaskKind::soft_cap) || request.masks.within(served), Code::Mask,
            "masks", "masks known to this plugin", request.masks);
    REQUIRE(verdict, !request.paged_cache, Code::Layout, "paged_cache",
            "false (SDPA reads contiguous keys and values)", "true");
    require_padded_dense_bias(verdict, request);
    REQUIRE(verdict, request.device == Device::cpu || !request.deterministic || !request.needs_grad,
            Code::Determinism, "deterministic",
            "false on cuda with gradients (backward kernels add atomically)", "true");
    REQUIRE(verdict, variant.empty() || variant == "math" || variant == "flash", Code::Variant, "variant",
            "none, math, or flash on cpu: LibTorch picks the others by itself", variant);
    if (variant == "flash") require_flash(verdict, request);
    return verdict;
}

TorchAttention::TorchAttention(const CreateInfo& info)
    : Attention(info),
      why_not_captured_(why_not_captured(KindTraits<Kind::attention>::request(*info.request))),
      slow_(slow_libtorch_products(info, "5 times as slowly as float32 or more",
                                   "attention.backend = \"flash\"")),
      kernel_(info.variant == "math"    ? SdpaKernel::math
              : info.variant == "flash" ? SdpaKernel::flash
                                        : SdpaKernel::picked) {}

AttentionOutputs TorchAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                         Saved*) {
    return params.layout == Layout::padded ? padded(inputs, params) : packed(inputs, params);
}

SdpaResult TorchAttention::attend(const Tensor& q_BHND, const Tensor& k_BKMD, const Tensor& v_BKME,
                                  const SdpaMask& mask, const AttentionParams& params) {
    SdpaArguments call{.q = q_BHND, .k = k_BKMD, .v = v_BKME, .mask = mask.bias};
    call.dropout = params.dropout.p;
    call.causal = mask.causal;
    if (params.scale > 0.0) call.scale = params.scale;
    call.kernel = kernel_;
    call.want_lse = params.want_lse;
    auto result = scaled_dot_product_attention(call);
    executed(result.kernel);
    if (mask.keyless.defined()) {
        result.out = result.out.masked_fill(mask.keyless, 0.0);
        if (result.lse.defined()) result.lse.masked_fill_(mask.keyless.squeeze(-1), -INFINITY);
    }
    return result;
}

AttentionOutputs TorchAttention::padded(const AttentionInputs& inputs, const AttentionParams& params) {
    const auto mask = masks_.make(inputs, params, {inputs.q.size(2), inputs.k.size(2), std::nullopt});
    auto result = attend(inputs.q, inputs.k, inputs.v, mask, params);
    return {std::move(result.out), std::move(result.lse)};
}

AttentionOutputs TorchAttention::packed(const AttentionInputs& inputs, const AttentionParams& params) {
    const auto& lengths_q = lengths_q_.of(params.mask.cu_seqlens_q);
    const auto& lengths_k = lengths_k_.of(params.mask.cu_seqlens_k);
    const bool alike = !lengths_q.empty() && all_equal(lengths_q) && all_equal(lengths_k);
    return alike ? packed_of_one_length(inputs, params) : packed_one_by_one(inputs, params);
}

AttentionOutputs TorchAttention::packed_of_one_length(const AttentionInputs& inputs,
                                                      const AttentionParams& params) {
    const auto& lengths_q = lengths_q_.of(params.mask.cu_seqlens_q);
    const auto& lengths_k = lengths_k_.of(params.mask.cu_seqlens_k);
    const auto sequences = static_cast<std::int64_t>(lengths_q.size());
    const auto mask = masks_.make(inputs, params, {lengths_q[0], lengths_k[0], std::nullopt});
    const auto result =
        attend(as_rows(inputs.q, sequences, lengths_q[0]), as_rows(inputs.k, sequences, lengths_k[0]),
               as_rows(inputs.v, sequences, lengths_k[0]), mask, params);
    AttentionOutputs outputs;
    outputs.out = result.out.transpose(1, 2).flatten(0, 1);
    if (result.lse.defined()) outputs.lse = result.lse.transpose(1, 2).flatten(0, 1);
    return outputs;
}

// One split and one cat each way: slices taken one by one would make backward add up tensors of the whole
// length.
AttentionOutputs TorchAttention::packed_one_by_one(const AttentionInputs& inputs,
                                                   const AttentionParams& params) {
    const auto& lengths_q = lengths_q_.of(params.mask.cu_seqlens_q);
    const auto& lengths_k = lengths_k_.of(params.mask.cu_seqlens_k);
    if (lengths_q.empty()) return reference::attention(inputs, params);
    const auto q = as_one_row(inputs.q).split_with_sizes(lengths_q, 2);
    const auto k = as_one_row(inputs.k).split_with_sizes(lengths_k, 2);
    const auto v = as_one_row(inputs.v).split_with_sizes(lengths_k, 2);
    std::vector<Tensor> outs, lses;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const auto mask =
            masks_.make(inputs, params, {lengths_q[i], lengths_k[i], static_cast<std::int64_t>(i)});
        auto result = attend(q[i], k[i], v[i], mask, params);
        outs.push_back(result.out.transpose(1, 2));
        if (result.lse.defined()) lses.push_back(result.lse.transpose(1, 2));
    }
    AttentionOutputs outputs;
    outputs.out = at::cat(outs, 1).squeeze(0);
    if (!lses.empty()) outputs.lse = at::cat(lses, 1).squeeze(0);
    return outputs;
}

}  // namespace switchyard

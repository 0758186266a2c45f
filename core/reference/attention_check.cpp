#include <switchyard/reference/attention_check.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>

#include <switchyard/interfaces/relative_buckets.h>
#include <switchyard/reference/require.h>

namespace switchyard::reference {
namespace {

void check_heads(const char* name, const at::Tensor& k, std::int64_t heads, std::int64_t kv_heads) {
    require("attention", kv_heads > 0 && heads % kv_heads == 0, "heads (", heads,
            ") must be a multiple of kv heads (", kv_heads, " in ", name, " ", k.sizes(), ")");
}

void check_lengths(const char* name, const at::Tensor& lengths, std::int64_t batch) {
    require("attention", lengths.defined(), name, " is part of the mask but is not given");
    require("attention", lengths.dim() == 1 && lengths.size(0) == batch, name, " must be [", batch,
            "], one a sequence, got ", lengths.sizes());
}

void check_keys(const AttentionInputs& inputs, const AttentionParams& params) {
    const at::Tensor& q = inputs.q;
    const bool packed = params.layout == Layout::packed;
    const std::int64_t dims = packed ? 3 : 4;
    const std::int64_t heads = q.size(1);
    require("attention", inputs.k.defined() && inputs.v.defined(),
            "k and v are not given, and no paged cache either");
    require("attention", inputs.k.dim() == dims && inputs.v.dim() == dims, "k and v must have ", dims,
            " dimensions like q, got ", inputs.k.sizes(), " and ", inputs.v.sizes());
    require("attention",
            inputs.k.scalar_type() == q.scalar_type() && inputs.v.scalar_type() == q.scalar_type(),
            "q, k and v must have one dtype, got ", q.scalar_type(), ", ", inputs.k.scalar_type(), ", ",
            inputs.v.scalar_type());
    require("attention", inputs.k.sizes().slice(0, dims - 1) == inputs.v.sizes().slice(0, dims - 1), "k ",
            inputs.k.sizes(), " and v ", inputs.v.sizes(), " may only differ in their last dimension");
    require("attention", inputs.k.size(-1) == q.size(-1), "head_dim of q ", q.sizes(), " and of k ",
            inputs.k.sizes(), " differ");
    if (!packed)
        require("attention", inputs.k.size(0) == q.size(0), "batch of q ", q.sizes(), " and of k ",
                inputs.k.sizes(), " differ");
    check_heads("k", inputs.k, heads, inputs.k.size(1));
}

void check_pages(const AttentionInputs& inputs, const PagedCache& pages, std::int64_t sequences) {
    const at::Tensor& k = pages.k_pages;
    const at::Tensor& v = pages.v_pages;
    require("attention", k.defined() && v.defined() && k.dim() == 4 && v.dim() == 4,
            "pages must be [pages, page_size, kv_heads, head_dim]");
    require("attention", k.sizes().slice(0, 3) == v.sizes().slice(0, 3), "k_pages ", k.sizes(),
            " and v_pages ", v.sizes(), " may only differ in their last dimension");
    require("attention", k.size(3) == inputs.q.size(-1), "head_dim of q ", inputs.q.sizes(),
            " and of k_pages ", k.sizes(), " differ");
    check_heads("k_pages", k, inputs.q.size(1), k.size(2));
    check_lengths("lengths of the paged cache", pages.lengths, sequences);
    require(
        "attention",
        pages.block_table.defined() && pages.block_table.dim() == 2 && pages.block_table.size(0) == sequences,
        "block_table must be [", sequences, ", max_pages]");
    if (sequences == 0) return;
    const auto longest = pages.lengths.max().item<std::int64_t>();
    require("attention", longest <= pages.block_table.size(1) * k.size(1), "a length of ", longest,
            " needs more pages than the ", pages.block_table.size(1), " of ", k.size(1),
            " keys in block_table");
}

std::int64_t count_sequences(const AttentionInputs& inputs, const AttentionParams& params) {
    if (params.layout == Layout::padded) return inputs.q.size(0);
    const auto q_begin = sequence_offsets(params.mask.cu_seqlens_q, "cu_seqlens_q", inputs.q.size(0));
    if (params.pages == nullptr) {
        const auto k_begin = sequence_offsets(params.mask.cu_seqlens_k, "cu_seqlens_k", inputs.k.size(0));
        require("attention", k_begin.size() == q_begin.size(), "cu_seqlens_q has ", q_begin.size(),
                " entries, cu_seqlens_k ", k_begin.size());
    }
    return static_cast<std::int64_t>(q_begin.size()) - 1;
}

void check_mask(const AttentionInputs& inputs, const AttentionParams& params, std::int64_t sequences) {
    const AttentionMask& mask = params.mask;
    const std::int64_t heads = inputs.q.size(1);
    const bool packed = params.layout == Layout::packed;
    if (mask.kinds.has(MaskKind::key_lengths)) {
        require("attention", !packed,
                "key_lengths are for the padded layout; packed sequences have cu_seqlens");
        check_lengths("key_lengths", mask.key_lengths, sequences);
    }
    if (mask.query_offsets.defined() && !packed)
        check_lengths("query_offsets", mask.query_offsets, sequences);
    if (mask.kinds.has(MaskKind::prefix)) check_lengths("prefix_lengths", mask.prefix_lengths, sequences);
    if (mask.kinds.has(MaskKind::alibi)) {
        require(
            "attention",
            mask.alibi_slopes.defined() && mask.alibi_slopes.dim() == 1 && mask.alibi_slopes.size(0) == heads,
            "alibi_slopes must be [", heads, "], one a head");
    }
    if (mask.kinds.has(MaskKind::relative_bias)) {
        const at::Tensor& table = inputs.relative_bias;
        require("attention", table.defined() && table.dim() == 2 && table.size(1) == heads,
                "relative_bias must be [buckets, ", heads, "]");
        const std::string fault =
            fault_of_relative_buckets(table.size(0), mask.relative_bidirectional, mask.relative_max_distance);
        require("attention", fault.empty(), fault);
    }
    if (mask.kinds.has(MaskKind::soft_cap))
        require("attention", mask.soft_cap > 0.0, "soft_cap must be above 0, got ", mask.soft_cap);
    if (mask.kinds.has(MaskKind::dense_bias)) {
        require("attention", !packed, "a dense bias is for the padded layout");
        require("attention", inputs.dense_bias.defined() && inputs.dense_bias.dim() <= 4,
                "dense_bias must be broadcastable to [B, H, N, M]");
    }
}

}  // namespace

std::vector<std::int64_t> sequence_offsets(const at::Tensor& cu_seqlens, const char* name,
                                           std::int64_t total) {
    require("attention", cu_seqlens.defined() && cu_seqlens.dim() == 1 && cu_seqlens.size(0) >= 1, name,
            " must be [sequences + 1]");
    const at::Tensor numbers = cu_seqlens.to(at::kCPU, at::kLong).contiguous();
    const auto* data = numbers.const_data_ptr<std::int64_t>();
    std::vector<std::int64_t> offsets(data, data + numbers.numel());
    require("attention", offsets.front() == 0, name, " must start at 0, got ", offsets.front());
    for (std::size_t i = 1; i < offsets.size(); ++i) {
        require("attention", offsets[i] >= offsets[i - 1], name, " must not decrease, but entry ", i, " is ",
                offsets[i], " after ", offsets[i - 1]);
    }
    require("attention", offsets.back() == total, name, " must end at the total of ", total, ", got ",
            offsets.back());
    return offsets;
}

void check_attention(const AttentionInputs& inputs, const AttentionParams& params) {
    require("attention", inputs.q.defined(), "q is not given");
    const bool packed = params.layout == Layout::packed;
    require("attention", inputs.q.dim() == (packed ? 3 : 4), "q must be ",
            packed ? "[total, heads, head_dim]" : "[batch, heads, queries, head_dim]", " in the ",
            name(params.layout), " layout, got ", inputs.q.sizes());
    if (params.pages == nullptr) check_keys(inputs, params);
    const std::int64_t sequences = count_sequences(inputs, params);
    if (params.pages != nullptr) check_pages(inputs, *params.pages, sequences);
    check_mask(inputs, params, sequences);
}

}  // namespace switchyard::reference

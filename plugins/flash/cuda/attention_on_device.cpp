// Legend:  B sequences  H heads  N queries  R 2 reach + 1
#include "attention_on_device.h"

#include <algorithm>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>
#include <switchyard/reference/attention_mask.h>
#include <switchyard/reference/paged_keys.h>
#include <switchyard/sdk/cuda/aligned_rows.h>
#include <switchyard/sdk/saved_attention.h>

#include "kernels.h"
#include "params.h"
#include "tiles.h"

namespace switchyard::flash_cuda {
namespace {

AttentionInputs aligned(const AttentionInputs& inputs) {
    AttentionInputs made = inputs;
    made.q = with_aligned_rows(inputs.q);
    if (inputs.k.defined()) made.k = with_aligned_rows(inputs.k);
    if (inputs.v.defined()) made.v = with_aligned_rows(inputs.v);
    return made;
}

// In the order of strides of `like`, if rows are then dense.
at::Tensor empty_rows(const at::Tensor& like, at::IntArrayRef sizes) {
    const at::Tensor made = reference::empty_in_order_of(like, sizes);
    return has_aligned_rows(made) ? made : at::empty(sizes, like.options());
}

Rows rows_of(const at::Tensor& x, Layout layout) {
    if (!x.defined() || x.numel() == 0) return {};
    if (layout == Layout::packed) return {x.data_ptr(), 0, x.stride(1), x.stride(0)};
    return {x.data_ptr(), x.stride(0), x.stride(1), x.stride(2)};
}
// Of pages [pages, page_size, K, D].
Rows rows_of_pages(const at::Tensor& pages) {
    return {pages.data_ptr(), pages.stride(0), pages.stride(2), pages.stride(1)};
}
// [B, H, N] or [T, H] as rows of one number.
Rows number_rows(const at::Tensor& x, Layout layout) { return rows_of(x.unsqueeze(-1), layout); }

at::Tensor int32_of(const at::Tensor& numbers, const at::Tensor& like) {
    return numbers.to(like.device(), at::kInt).contiguous();
}

}  // namespace

// Tensors live until the launches are queued: memory that LibTorch takes back is handed out again in the
// order of the stream.
struct AttentionOnDevice::Call {
    Params params;
    Shape shape;
    Storage storage = Storage::bf16;
    std::vector<at::Tensor> kept;

    const std::int32_t* keep_int32(const at::Tensor& numbers, const at::Tensor& like) {
        kept.push_back(int32_of(numbers, like));
        return kept.back().const_data_ptr<std::int32_t>();
    }
};

void KnownOffsets::follow(const at::Tensor& cu_seqlens) {
    if (!cu_seqlens.defined()) {
        *this = {};
        return;
    }
    const std::int64_t now = cu_seqlens.is_inference() ? -1 : cu_seqlens._version();
    if (given.defined() && given.is_same(cu_seqlens) && now >= 0 && now == version) return;
    given = cu_seqlens;
    version = now;
    on_cpu = cu_seqlens.to(at::kCPU, at::kLong).contiguous();
    longest = 0;
    const auto* const data = on_cpu.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 1; i < on_cpu.numel(); ++i) longest = std::max(longest, data[i] - data[i - 1]);
}

void AttentionOnDevice::check(const AttentionInputs& inputs, const AttentionParams& params) {
    if (params.layout == Layout::padded) return reference::check_attention(inputs, params);
    q_offsets_.follow(params.mask.cu_seqlens_q);
    k_offsets_.follow(params.mask.cu_seqlens_k);
    AttentionParams read = params;
    read.mask.cu_seqlens_q = q_offsets_.on_cpu;
    read.mask.cu_seqlens_k = k_offsets_.on_cpu;
    reference::check_attention(inputs, read);
}

const DistanceBuckets& AttentionOnDevice::distances_of(const at::Tensor& table, const AttentionMask& mask) {
    DistanceBuckets& known = distances_;
    if (known.bucket.defined() && known.bucket.device() == table.device() && known.buckets == table.size(0) &&
        known.max_distance == mask.relative_max_distance &&
        known.bidirectional == mask.relative_bidirectional)
        return known;
    known.buckets = table.size(0);
    known.max_distance = mask.relative_max_distance;
    known.bidirectional = mask.relative_bidirectional;
    known.reach = std::max(known.max_distance, known.buckets);
    const std::int64_t count = 2 * known.reach + 1;
    const at::Tensor bucket = at::empty({count}, at::TensorOptions().dtype(at::kLong));
    const at::Tensor one_hot = at::zeros({known.buckets, count}, at::TensorOptions().dtype(at::kDouble));
    for (std::int64_t i = 0; i < count; ++i) {
        const auto one = reference::relative_bucket(i - known.reach, known.buckets, known.bidirectional,
                                                    known.max_distance);
        bucket.mutable_data_ptr<std::int64_t>()[i] = one;
        one_hot.mutable_data_ptr<double>()[one * count + i] = 1.0;
    }
    known.bucket = bucket.to(table.device());
    known.one_hot = one_hot.to(table.device());
    return known;
}

void AttentionOnDevice::add_relative_bias(Call& call, const at::Tensor& table, const AttentionMask& mask) {
    const DistanceBuckets& distances = distances_of(table, mask);
    call.kept.push_back(table.detach().to(at::kFloat).index_select(0, distances.bucket).t().contiguous());
    call.params.distance_bias = call.kept.back().const_data_ptr<float>();
    call.params.reach = static_cast<int>(distances.reach);
}

// For few queries the kernel follows the table; for many the pages are copied once, and lie as padded keys
// do.
void AttentionOnDevice::add_pages(Call& call, const AttentionParams& params, const at::Tensor& q) {
    Params& p = call.params;
    const PagedCache& pages = *params.pages;
    p.paged = true;
    p.key_lengths = call.keep_int32(pages.lengths, q);
    p.kv_heads = static_cast<int>(pages.k_pages.size(2));
    p.v_head_dim = static_cast<int>(pages.v_pages.size(3));
    p.table_pages = static_cast<int>(pages.block_table.size(1));
    p.page_size = static_cast<int>(pages.k_pages.size(1));
    p.keys = p.table_pages * p.page_size;
    const Shape shape{p.sequences, p.heads, p.kv_heads,
                      p.queries,   p.keys,  padded_dim(p.head_dim, p.v_head_dim)};
    at::Tensor k = pages.k_pages, v = pages.v_pages;
    if (is_decoding(shape) && !params.dropout.active()) {
        p.page_table = call.keep_int32(pages.block_table, q);
        k = with_aligned_rows(k);
        v = with_aligned_rows(v);
        p.k = rows_of_pages(k);
        p.v = rows_of_pages(v);
    } else {
        const auto padded = reference::padded_keys(pages, 0);
        k = padded.k;
        v = padded.v;
        p.keys = static_cast<int>(k.size(2));
        p.k = rows_of(k, Layout::padded);
        p.v = rows_of(v, Layout::padded);
    }
    call.kept.push_back(k);
    call.kept.push_back(v);
}

AttentionOnDevice::Call AttentionOnDevice::describe(const AttentionInputs& inputs,
                                                    const AttentionParams& params, std::int64_t longest_q,
                                                    std::int64_t longest_k) {
    const AttentionMask& mask = params.mask;
    const at::Tensor& q = inputs.q;
    const bool packed = params.layout == Layout::packed;
    Call call;
    Params& p = call.params;
    call.storage = q.scalar_type() == at::kHalf ? Storage::fp16 : Storage::bf16;
    p.q = rows_of(inputs.q, params.layout);
    p.sequences = static_cast<int>(packed ? mask.cu_seqlens_q.size(0) - 1 : q.size(0));
    p.heads = static_cast<int>(q.size(1));
    p.head_dim = static_cast<int>(q.size(-1));
    p.queries = static_cast<int>(packed ? longest_q : q.size(2));
    if (packed)
        p.cu_seqlens_q = call.keep_int32(mask.cu_seqlens_q, q);
    else if (mask.query_offsets.defined())
        p.query_offsets = call.keep_int32(mask.query_offsets, q);
    if (params.pages != nullptr) {
        add_pages(call, params, q);
    } else {
        p.k = rows_of(inputs.k, params.layout);
        p.v = rows_of(inputs.v, params.layout);
        p.kv_heads = static_cast<int>(inputs.k.size(1));
        p.v_head_dim = static_cast<int>(inputs.v.size(-1));
        p.keys = static_cast<int>(packed ? longest_k : inputs.k.size(2));
        if (packed) p.cu_seqlens_k = call.keep_int32(mask.cu_seqlens_k, q);
        if (!packed && mask.kinds.has(MaskKind::key_lengths))
            p.key_lengths = call.keep_int32(mask.key_lengths, q);
    }
    if (mask.kinds.has(MaskKind::prefix)) p.prefix_lengths = call.keep_int32(mask.prefix_lengths, q);
    p.causal = mask.kinds.has(MaskKind::causal);
    if (mask.kinds.has(MaskKind::sliding_window)) {
        // Wider than any sequence is as good as unlimited, and stays within 32 bits.
        const auto narrow = [](std::int64_t width) {
            return static_cast<int>(std::min<std::int64_t>(width, 1 << 30));
        };
        p.window_left = mask.window_left < 0 ? -1 : narrow(mask.window_left);
        p.window_right = mask.window_right < 0 ? -1 : narrow(mask.window_right);
    }
    p.scale = static_cast<float>(reference::attention_scale(params, p.head_dim));
    if (mask.kinds.has(MaskKind::soft_cap)) p.soft_cap = static_cast<float>(mask.soft_cap);
    if (mask.kinds.has(MaskKind::alibi)) {
        call.kept.push_back(mask.alibi_slopes.to(q.device(), at::kFloat).contiguous());
        p.alibi_slopes = call.kept.back().const_data_ptr<float>();
    }
    if (mask.kinds.has(MaskKind::relative_bias)) add_relative_bias(call, inputs.relative_bias, mask);
    if (mask.kinds.has(MaskKind::dense_bias)) {
        at::Tensor bias = inputs.dense_bias;
        if (bias.scalar_type() != q.scalar_type()) bias = bias.to(at::kFloat);
        const std::int64_t keys = params.pages == nullptr ? inputs.k.size(2) : bias.size(-1);
        bias = bias.expand({q.size(0), q.size(1), q.size(2), keys});
        p.dense_bias = bias.const_data_ptr();
        p.dense_is_float = bias.scalar_type() == at::kFloat;
        for (int i = 0; i < 4; ++i) p.dense_stride[i] = bias.stride(i);
        if (keys == 1) p.dense_stride[3] = 0;  // one for all keys, of pages too, which nothing expands it to
        call.kept.push_back(bias);
    }
    if (params.dropout.active()) {
        p.seed = params.dropout.seed;
        p.threshold = params.dropout.threshold();
        p.keep_scale = static_cast<float>(params.dropout.keep_scale());
        p.first_document = static_cast<std::uint32_t>(mask.first_document);
        p.first_head = static_cast<std::uint32_t>(mask.first_head);
    }
    call.shape = {p.sequences, p.heads, p.kv_heads, p.queries, p.keys, padded_dim(p.head_dim, p.v_head_dim)};
    return call;
}

AttentionOutputs AttentionOnDevice::forward(const AttentionInputs& given, const AttentionParams& params,
                                            Saved* saved, const Queue& queue) {
    check(given, params);
    const AttentionInputs inputs = aligned(given);
    auto sizes = given.q.sizes().vec();
    sizes.back() = 2;
    const at::Tensor softmax = at::empty(sizes, given.q.options().dtype(at::kFloat));
    sizes.back() = params.pages == nullptr ? given.v.size(-1) : params.pages->v_pages.size(3);
    const at::Tensor out = empty_rows(inputs.q, sizes);
    Call call = describe(inputs, params, q_offsets_.longest, k_offsets_.longest);
    Params& p = call.params;
    p.out = rows_of(out, params.layout);
    p.softmax = rows_of(softmax, params.layout);
    const bool launches = out.numel() > 0;
    if (launches && is_decoding(call.shape) && p.threshold == 0) {
        p.splits = decode_splits(call.shape, queue.multiprocessors);
        at::Tensor split_out, split_softmax;
        if (p.splits > 1) {
            const auto rows = call.shape.sequences * call.shape.heads * call.shape.queries;
            split_out = at::empty({p.splits, rows, p.v_head_dim}, softmax.options());
            split_softmax = at::empty({p.splits, rows, 2}, softmax.options());
            p.split_out = split_out.mutable_data_ptr<float>();
            p.split_softmax = split_softmax.mutable_data_ptr<float>();
        }
        decode(call.storage, p, call.shape, queue.stream);
    } else if (launches) {
        forward_pass(call.storage, p, call.shape, queue.stream);
    }
    if (saved != nullptr) saved->integers = {q_offsets_.longest, k_offsets_.longest};
    return save_attention(saved, given, params, out, softmax, score_unit(p, has_terms(p)));
}

// Of the bias' own size, and where in it an element of [B, H, N, M] is.
at::Tensor AttentionOnDevice::add_dense_gradient(Call& call, const at::Tensor& bias) {
    const at::Tensor gradient = at::zeros(bias.sizes(), bias.options().dtype(at::kFloat));
    const at::Tensor whole =
        gradient.expand({call.params.sequences, call.params.heads, call.params.queries, call.params.keys});
    call.params.dense_gradient = gradient.mutable_data_ptr<float>();
    for (int i = 0; i < 4; ++i) call.params.dense_gradient_stride[i] = whole.stride(i);
    call.params.dense_is_shared = whole.numel() != gradient.numel();
    return gradient;
}

AttentionGrads AttentionOnDevice::backward(const AttentionParams& params, const Saved& saved,
                                           const at::Tensor& grad_out, const AttentionNeeds& needs,
                                           const Queue& queue) {
    const SavedAttention from = saved_attention(saved);
    const AttentionInputs inputs = aligned(from.inputs);
    const at::Tensor &out = from.out, &softmax = from.softmax;
    const at::Tensor grad = with_aligned_rows(grad_out),
                     delta = at::empty(out.sizes().slice(0, out.dim() - 1), softmax.options());
    Call call = describe(inputs, params, saved.integers.at(0), saved.integers.at(1));
    Params& p = call.params;
    p.out = rows_of(out, params.layout);
    p.grad_out = rows_of(grad, params.layout);
    p.softmax = rows_of(softmax, params.layout);
    p.delta = number_rows(delta, params.layout);

    AttentionGrads grads;
    const bool runs = out.numel() > 0 && inputs.k.numel() > 0;
    const auto make = [&](bool needed, const at::Tensor& input, at::Tensor& gradient, Rows& to) {
        if (!needed) return;
        gradient = empty_rows(input, input.sizes());
        if (!runs) gradient.zero_();
        to = rows_of(gradient, params.layout);
    };
    make(needs.q, inputs.q, grads.q, p.dq);
    make(needs.k, inputs.k, grads.k, p.dk);
    make(needs.v, inputs.v, grads.v, p.dv);
    const bool relative = needs.relative_bias && params.mask.kinds.has(MaskKind::relative_bias);
    const bool dense = needs.dense_bias && params.mask.kinds.has(MaskKind::dense_bias);
    if (!runs) {
        if (relative) grads.relative_bias = at::zeros_like(inputs.relative_bias);
        if (dense) grads.dense_bias = at::zeros_like(inputs.dense_bias);
        return grads;
    }

    at::Tensor distances;
    if (relative) {
        const Launch pass = query_pass_launch(call.shape, true);
        distances = at::zeros({pass.blocks, 2 * p.reach + 1}, softmax.options());
        p.distance_gradient = distances.mutable_data_ptr<float>();
    }
    at::Tensor dense_sums;
    if (dense) dense_sums = add_dense_gradient(call, inputs.dense_bias);
    backward_pass(call.storage, p, call.shape, queue.stream);
    if (dense) grads.dense_bias = dense_sums.to(inputs.dense_bias.scalar_type());
    if (relative) {
        const at::Tensor sums_HR = distances.view({p.sequences, p.heads, -1, 2 * p.reach + 1})
                                       .to(at::kDouble)
                                       .sum(at::IntArrayRef{0, 2});
        grads.relative_bias = distances_of(inputs.relative_bias, params.mask)
                                  .one_hot.matmul(sums_HR.t())
                                  .to(inputs.relative_bias.scalar_type());
    }
    return grads;
}

}  // namespace switchyard::flash_cuda

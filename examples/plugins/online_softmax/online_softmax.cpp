// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim
#include "online_softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <switchyard/interfaces/require.h>
#include <switchyard/reference/attention.h>
#include <switchyard/reference/attention_check.h>

using namespace switchyard;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr MaskSet served_masks = {MaskKind::causal, MaskKind::key_lengths, MaskKind::sliding_window};

// The keys that a query sees: with the masks that are served they follow each other.
struct Seen {
    std::int64_t begin = 0, end = 0;
};

// All that a row's loop has to know, in plain numbers.
struct Call {
    std::int64_t batch, heads, kv_heads, queries, keys, dim, v_dim;
    float scale;
    const float *q, *k, *v;             // dense
    std::vector<std::int64_t> lengths;  // of keys, for each row of the batch
    std::vector<std::int64_t> offsets;  // p(i) = i + offset
    bool causal;
    std::int64_t window_left, window_right;  // < 0: unlimited

    const float* q_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
        return q + ((b * heads + h) * queries + i) * dim;
    }
    // Of the kv head that this head reads.
    const float* k_rows(std::int64_t b, std::int64_t kv) const {
        return k + (b * kv_heads + kv) * keys * dim;
    }
    const float* v_rows(std::int64_t b, std::int64_t kv) const {
        return v + (b * kv_heads + kv) * keys * v_dim;
    }

    Seen seen(std::int64_t b, std::int64_t i) const {
        const std::int64_t position = i + offsets[b];
        Seen seen{0, lengths[b]};
        if (causal) seen.end = std::min(seen.end, position + 1);
        if (window_right >= 0) seen.end = std::min(seen.end, position + window_right + 1);
        if (window_left >= 0) seen.begin = std::max<std::int64_t>(0, position - window_left);
        return seen;
    }
};

std::vector<std::int64_t> numbers(const at::Tensor& tensor, std::int64_t count, std::int64_t otherwise,
                                  bool given) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count), otherwise);
    if (!given) return all;
    const at::Tensor dense = tensor.contiguous();
    const auto* const values = dense.const_data_ptr<std::int32_t>();
    std::copy_n(values, count, all.begin());
    return all;
}

// q, k, v: dense, and alive as long as the call.
Call call_of(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionParams& params) {
    const AttentionMask& mask = params.mask;
    const bool windowed = mask.kinds.has(MaskKind::sliding_window);
    Call call;
    call.batch = q.size(0), call.heads = q.size(1), call.queries = q.size(2), call.dim = q.size(3);
    call.kv_heads = k.size(1), call.keys = k.size(2), call.v_dim = v.size(3);
    call.scale = static_cast<float>(reference::attention_scale(params, call.dim));
    call.q = q.const_data_ptr<float>();
    call.k = k.const_data_ptr<float>();
    call.v = v.const_data_ptr<float>();
    call.lengths = numbers(mask.key_lengths, call.batch, call.keys, mask.kinds.has(MaskKind::key_lengths));
    call.offsets =
        numbers(mask.query_offsets, call.batch, call.keys - call.queries, mask.query_offsets.defined());
    call.causal = mask.kinds.has(MaskKind::causal);
    call.window_left = windowed ? mask.window_left : -1;
    call.window_right = windowed ? mask.window_right : -1;
    return call;
}

float dot(const float* a, const float* b, std::int64_t size) {
    float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < size; ++i) sum += a[i] * b[i];
    return sum;
}

void add(float* to, float factor, const float* from, std::int64_t size) {
#pragma omp simd
    for (std::int64_t i = 0; i < size; ++i) to[i] += factor * from[i];
}

// The scores of keys begin..end. One function for both ways, never inlined: of the same numbers backward has
// to make the same bits, for m is compared with them.
__attribute__((noinline)) void score(const Call& call, const float* q_D, const float* k_MD,
                                     std::int64_t begin, std::int64_t end, float* scores) {
    for (std::int64_t j = begin; j < end; ++j)
        scores[j - begin] = call.scale * dot(q_D, k_MD + j * call.dim, call.dim);
}

// One query's output, m and l. `scratch` has room for a block of scores and for E values.
void forward_row(const Call& call, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t key_block,
                 float* scratch, float* out_E, float* softmax_2) {
    const std::int64_t kv = h / (call.heads / call.kv_heads);
    const float* const q = call.q_row(b, h, i);
    const float *const k = call.k_rows(b, kv), *const v = call.v_rows(b, kv);
    const Seen seen = call.seen(b, i);
    float *const scores = scratch, *const of_block = scratch + key_block;
    float largest = minus_infinity, sum = 0.0F;
    std::fill_n(out_E, call.v_dim, 0.0F);
    for (std::int64_t begin = seen.begin; begin < seen.end; begin += key_block) {
        const std::int64_t end = std::min(seen.end, begin + key_block), size = end - begin;
        score(call, q, k, begin, end, scores);
        const float now = std::max(largest, *std::max_element(scores, scores + size));
        const float kept = std::exp(largest - now);  // 0 for the first block
        float block_sum = 0.0F;
        std::fill_n(of_block, call.v_dim, 0.0F);
        for (std::int64_t j = 0; j < size; ++j) {
            const float weight = std::exp(scores[j] - now);
            block_sum += weight;
            add(of_block, weight, v + (begin + j) * call.v_dim, call.v_dim);
        }
        sum = sum * kept + block_sum;
        for (std::int64_t e = 0; e < call.v_dim; ++e) out_E[e] = out_E[e] * kept + of_block[e];
        largest = now;
    }
    softmax_2[0] = largest;
    softmax_2[1] = sum;
    if (sum == 0.0F) return;  // no key is seen: zeros
    for (std::int64_t e = 0; e < call.v_dim; ++e) out_E[e] /= sum;
}

// What backward reads and writes, all dense.
struct Back {
    const float *out, *softmax, *grad_out;
    float *grad_q, *grad_k, *grad_v;
};

// All queries of all heads that read one kv head: nobody else adds to its gradients. Of each query, with its
// probabilities P, dO and D = <dO, O>:
//     dV_j += P_j dO;  dS_j = P_j (<dO, V_j> - D) scale;  dQ += dS_j K_j;  dK_j += dS_j Q
void backward_head(const Call& call, const Back& back, std::int64_t b, std::int64_t kv,
                   std::int64_t key_block) {
    const std::int64_t group = call.heads / call.kv_heads, all = b * call.kv_heads + kv;
    const float *const k = call.k_rows(b, kv), *const v = call.v_rows(b, kv);
    float* const grad_k = back.grad_k + all * call.keys * call.dim;
    float* const grad_v = back.grad_v + all * call.keys * call.v_dim;
    std::vector<float> scores(static_cast<std::size_t>(key_block));
    for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        for (std::int64_t i = 0; i < call.queries; ++i) {
            const std::int64_t row = (b * call.heads + h) * call.queries + i;
            const float largest = back.softmax[2 * row], sum = back.softmax[2 * row + 1];
            if (sum == 0.0F) continue;
            const float* const q = call.q_row(b, h, i);
            const float* const grad = back.grad_out + row * call.v_dim;
            float* const grad_q = back.grad_q + row * call.dim;
            const float mean = dot(grad, back.out + row * call.v_dim, call.v_dim);
            const Seen seen = call.seen(b, i);
            for (std::int64_t begin = seen.begin; begin < seen.end; begin += key_block) {
                const std::int64_t end = std::min(seen.end, begin + key_block);
                score(call, q, k, begin, end, scores.data());
                for (std::int64_t j = begin; j < end; ++j) {
                    const float p = std::exp(scores[static_cast<std::size_t>(j - begin)] - largest) / sum;
                    const float ds = p * (dot(grad, v + j * call.v_dim, call.v_dim) - mean) * call.scale;
                    add(grad_v + j * call.v_dim, p, grad, call.v_dim);
                    add(grad_q, ds, k + j * call.dim, call.dim);
                    add(grad_k + j * call.dim, ds, q, call.dim);
                }
            }
        }
    }
}

}  // namespace

OnlineSoftmax::OnlineSoftmax(const CreateInfo& info)
    : Attention(info), key_block_(info.options.integer("key_block")) {}

Verdict OnlineSoftmax::supports(const AttentionRequest& request, const HostInfo&, const Options&) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device));
    REQUIRE(verdict, request.dtype == DType::float32, Code::DType, "dtype", "float32", name(request.dtype));
    REQUIRE(verdict, request.layout == Layout::padded, Code::Layout, "layout", "padded",
            name(request.layout));
    REQUIRE(verdict, request.masks.within(served_masks), Code::Mask, "masks",
            "any of causal, key_lengths and sliding_window", request.masks);
    REQUIRE(verdict, !request.paged_cache, Code::Layout, "paged_cache", "false (keys lie end to end)",
            "true");
    REQUIRE(verdict, request.dropout == 0.0, Code::Dropout, "dropout", "0", request.dropout);
    return verdict;
}

AttentionOutputs OnlineSoftmax::forward(const AttentionInputs& inputs, const AttentionParams& params,
                                        Saved* saved) {
    reference::check_attention(inputs, params);
    executed();
    const at::Tensor q = inputs.q.contiguous(), k = inputs.k.contiguous(), v = inputs.v.contiguous();
    const Call call = call_of(q, k, v, params);
    const auto options = q.options().requires_grad(false);
    const at::Tensor dense_out = at::empty({call.batch, call.heads, call.queries, call.v_dim}, options);
    const at::Tensor softmax = at::empty({call.batch, call.heads, call.queries, 2}, options);
    float *const out = dense_out.mutable_data_ptr<float>(), *const ml = softmax.mutable_data_ptr<float>();
    at::parallel_for(0, call.batch * call.heads * call.queries, 16,
                     [&](std::int64_t begin, std::int64_t end) {
                         std::vector<float> scratch(static_cast<std::size_t>(key_block_ + call.v_dim));
                         for (std::int64_t row = begin; row < end; ++row) {
                             const std::int64_t head = row / call.queries;
                             forward_row(call, head / call.heads, head % call.heads, row % call.queries,
                                         key_block_, scratch.data(), out + row * call.v_dim, ml + 2 * row);
                         }
                     });
    AttentionOutputs outputs;
    outputs.out = reference::in_stride_order_of(inputs.q, dense_out);
    if (params.want_lse) outputs.lse = softmax.select(-1, 0) + softmax.select(-1, 1).log();
    if (saved != nullptr) {
        saved->input(inputs.q);
        saved->input(inputs.k);
        saved->input(inputs.v);
        saved->output(outputs.out);
        saved->extra(softmax);
    }
    return outputs;
}

AttentionGrads OnlineSoftmax::backward(const AttentionParams& params, const Saved& saved,
                                       const at::Tensor& grad_out, const AttentionNeeds& needs) {
    const at::Tensor q = saved[0].contiguous(), k = saved[1].contiguous(), v = saved[2].contiguous();
    const at::Tensor out = saved[3].contiguous(), grad = grad_out.contiguous();
    const Call call = call_of(q, k, v, params);
    const at::Tensor grad_q = at::zeros_like(q), grad_k = at::zeros_like(k), grad_v = at::zeros_like(v);
    const Back back{out.const_data_ptr<float>(),      saved[4].const_data_ptr<float>(),
                    grad.const_data_ptr<float>(),     grad_q.mutable_data_ptr<float>(),
                    grad_k.mutable_data_ptr<float>(), grad_v.mutable_data_ptr<float>()};
    at::parallel_for(0, call.batch * call.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            backward_head(call, back, i / call.kv_heads, i % call.kv_heads, key_block_);
    });
    AttentionGrads grads;
    if (needs.q) grads.q = grad_q;
    if (needs.k) grads.k = grad_k;
    if (needs.v) grads.v = grad_v;
    return grads;
}

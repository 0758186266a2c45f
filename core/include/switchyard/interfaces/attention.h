// Attention: softmax(scale * q k^T + bias, masked) v, for one layer.
//
// Source: Vaswani et al. 2017 (arXiv:1706.03762); grouped heads: Ainslie et al. 2023 (arXiv:2305.13245);
// sequences packed end to end as in flash-attention's variable-length interface (Dao 2023, arXiv:2307.08691).
// Masks and the order of score terms: mask.h.
//
// Legend:  B batch  H heads  K kv heads  N queries  M keys  D head_dim  E v_head_dim  T total queries
//          S total keys
#pragma once

#include <cstdint>
#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/dropout.h>
#include <switchyard/interfaces/kv_cache.h>
#include <switchyard/interfaces/mask.h>
#include <switchyard/interfaces/saved.h>

namespace switchyard {

// The tensors that can have a gradient. All of one floating dtype but the biases, which may also be float32.
struct AttentionInputs {
    // padded: [B, H, N, D], [B, K, M, D], [B, K, M, E];  packed: [T, H, D], [S, K, D], [S, K, E].
    // Any strides. Head h reads kv head h / (H / K).
    at::Tensor q;
    at::Tensor k;
    at::Tensor v;
    at::Tensor relative_bias;  // [buckets, H], with MaskKind::relative_bias
    at::Tensor dense_bias;     // broadcastable to [B, H, N, M], with MaskKind::dense_bias; padded layout only
};

// What is the same in forward and backward. Tensors in here have no gradient.
struct AttentionParams {
    Layout layout = Layout::padded;
    double scale = 0.0;  // <= 0: 1 / sqrt(D); above only with AttentionRequest::custom_scale
    AttentionMask mask;
    Dropout dropout;                    // on the probabilities, after the softmax
    bool want_lse = false;              // only with AttentionRequest::want_lse
    const PagedCache* pages = nullptr;  // if set, k and v of the inputs are undefined
};

struct AttentionOutputs {
    // padded [B, H, N, E], packed [T, H, E]; dtype of q; dense, best in q's order of strides (then what
    // follows reads it without a copy)
    at::Tensor out;
    // If want_lse: float32 (float64 for float64 inputs) [B, H, N] or [T, H], natural log of the sum of
    // exp(s); -inf where no key is visible. It has no gradient.
    at::Tensor lse;
};

struct AttentionNeeds {
    bool q = true, k = true, v = true, relative_bias = false, dense_bias = false;
};

// Shapes and dtypes of the inputs; undefined where not needed.
struct AttentionGrads {
    at::Tensor q, k, v, relative_bias, dense_bias;
};

class Attention : public Component {
public:
    using Component::Component;

    // `saved` is nullptr where no gradient will be asked for, and in every mode but GradientMode::kernel.
    virtual AttentionOutputs forward(const AttentionInputs& inputs, const AttentionParams& params,
                                     Saved* saved) = 0;

    // GradientMode::kernel only. `grad_out` has the shape of `out`, any strides.
    virtual AttentionGrads backward(const AttentionParams& /*params*/, const Saved& /*saved*/,
                                    const at::Tensor& /*grad_out*/, const AttentionNeeds& /*needs*/) {
        throw std::logic_error("attention: this component declares no backward of its own");
    }
};

}  // namespace switchyard

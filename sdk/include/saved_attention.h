// What attention keeps between forward and backward when backward makes the probabilities again: its inputs, its output and the log-sum-exp of each
// row (Dao et al. 2022, arXiv:2205.14135). Since 0.1.
//
//     AttentionOutputs MyAttention::forward(const AttentionInputs& inputs, const AttentionParams& params, Saved* saved) {
//         ...
//         return save_attention(saved, inputs, params, out, lse);
//     }
//     AttentionGrads MyAttention::backward(const AttentionParams& params, const Saved& saved, ...) {
//         const SavedAttention from = saved_attention(saved);
#pragma once

#include <switchyard/interfaces/attention.h>

namespace switchyard {

struct SavedAttention {
    AttentionInputs inputs;  // undefined ones as forward got them
    at::Tensor out;
    at::Tensor lse;  // float32 at least, [B, H, N] or [T, H]; -inf where no key is visible
};

// What forward returns, saved on the way unless `saved` is nullptr. Nothing is kept alive twice: an lse that forward does not return is an extra.
inline AttentionOutputs save_attention(Saved* saved, const AttentionInputs& inputs,
                                       const AttentionParams& params, const at::Tensor& out,
                                       const at::Tensor& lse) {
    if (saved != nullptr) {
        for (const auto* input : {&inputs.q, &inputs.k, &inputs.v, &inputs.relative_bias, &inputs.dense_bias})
            saved->input(*input);
        saved->output(out);
        if (params.want_lse) {
            saved->output(lse);
        } else {
            saved->extra(lse);
        }
    }
    return {out, params.want_lse ? lse : at::Tensor()};
}

inline SavedAttention saved_attention(const Saved& saved) {
    return {{saved[0], saved[1], saved[2], saved[3], saved[4]}, saved[5], saved[6]};
}

}  // namespace switchyard

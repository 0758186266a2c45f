// What attention keeps between forward and backward when backward makes the probabilities again: its inputs,
// its output, and of each row's softmax the largest score and the sum (Dao et al. 2022, arXiv:2205.14135).
// Since 1.0.
//
//     AttentionOutputs MyAttention::forward(const AttentionInputs& inputs, const AttentionParams& params,
//       Saved* saved) {
//         ...
//         return save_attention(saved, inputs, params, out, softmax);
//     }
//     AttentionGrads MyAttention::backward(const AttentionParams& params, const Saved& saved, ...) {
//         const SavedAttention from = saved_attention(saved);
//
// The two are kept apart, not as one log-sum-exp: float32 holds the logarithm of a sum to 0.03 where the
// largest score is 1e6 and not at all where it is 1e9, and probabilities made of that would be several times
// too large.
#pragma once

#include <switchyard/interfaces/attention.h>

namespace switchyard {

struct SavedAttention {
    AttentionInputs inputs;  // undefined ones as forward got them
    at::Tensor out;
    // float32 at least, [B, H, N, 2] or [T, H, 2]: the largest score of a row (or one near it) in a unit of
    // the component's own, and the sum of exp(score - largest) over its keys; 0 and 0 where no key is
    // visible.
    at::Tensor softmax;
};

// What forward returns, saved on the way unless `saved` is nullptr. `unit` is what the largest scores in
// `softmax` are multiplied by to be those of the contract.
inline AttentionOutputs save_attention(Saved* saved, const AttentionInputs& inputs,
                                       const AttentionParams& params, const at::Tensor& out,
                                       const at::Tensor& softmax, double unit = 1.0) {
    if (saved != nullptr) {
        for (const auto* input : {&inputs.q, &inputs.k, &inputs.v, &inputs.relative_bias, &inputs.dense_bias})
            saved->input(*input);
        saved->output(out);
        saved->extra(softmax);
    }
    if (!params.want_lse) return {out, at::Tensor()};
    const at::Tensor wide = softmax.to(at::ScalarType::Double);
    const at::Tensor lse = wide.select(-1, 0).mul(unit).add(wide.select(-1, 1).log());
    return {out, lse.to(softmax.scalar_type())};
}

inline SavedAttention saved_attention(const Saved& saved) {
    return {{saved[0], saved[1], saved[2], saved[3], saved[4]}, saved[5], saved[6]};
}

}  // namespace switchyard

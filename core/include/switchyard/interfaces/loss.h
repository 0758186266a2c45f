// What training makes smaller: LossParams::loss says which of these.
//
// Cross-entropy over classes, with the output projection fused in or not:
//
//     logits = x                                        x [rows, classes], or
//     logits = x weight^T + bias                        x [rows, width], weight [classes, width]
//     row's loss = (1 - e) * (lse - logits[target]) + e * (lse - mean(logits)) + z_loss * lse^2,
//                  lse = log(sum(exp(logits)))
//
// with e = label_smoothing (Szegedy et al. 2016, arXiv:1512.00567, as PyTorch's cross_entropy has it) and the
// z-loss of PaLM (Chowdhery et al. 2022, arXiv:2204.02311). Rows whose target is `ignore_index` count nothing
// and get zero gradients, whatever stands in them: a NaN there reaches no weight. (A library's kernels on a
// device may give NaN to a row of logits that is ignored and not finite itself, and to that row alone.)
//
// Mean squared error and binary cross-entropy of values: each of the columns ("classes") of each row has a
// target y of its own, a floating number; x are predictions, or the logits of probabilities:
//
//     value's loss = (x - y)^2, or
//     value's loss = max(x, 0) - x y + log(1 + exp(-|x|))          y in [0, 1]
//     row's loss = the sum of its values' losses
//
// A value whose target is NaN counts nothing and gets a zero gradient, whatever x is there. Both are without
// projection, label smoothing and z-loss, and ignore_index means nothing to them.
//
// custom (LossRequest::custom) is what its component says, with targets of either form: a row's loss is a
// function of that row and its targets alone. Reductions, rows and values that do not count, and a fused
// projection are as above; label smoothing and z-loss are not asked for. Its component also gives losses of
// single rows of logits in float64 on the CPU: what all else, and by finite differences the gradient, is held
// to.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/saved.h>

namespace switchyard {

struct LossInputs {
    at::Tensor x;       // logits, or hidden states when `weight` is defined
    at::Tensor weight;  // [classes, width] or undefined
    at::Tensor bias;    // [classes] or undefined
    // Classes: int64 [rows], each in [0, classes) or ignore_index. Values: float32 (float64 for float64 x) of
    // the shape of x, NaN where a value does not count.
    at::Tensor targets;
};

enum class Reduction : std::uint8_t { mean, sum, none };

struct LossParams {
    // mean: over the rows that count, of targets that are floating over the values; 0 where none does
    Reduction reduction = Reduction::mean;
    double divisor =
        0.0;  // > 0 with Reduction::sum: the sum is divided by it (a batch cut into micro-batches)
    std::int64_t ignore_index = -100;
    double label_smoothing = 0.0;
    double z_loss = 0.0;

    // Nobody reads the logits x after this call but its own backward, and nobody has saved them: a component
    // that is given a Saved may write to their memory, in forward or in backward, and return it as their
    // gradient. The graph can then be gone through once. Off, or with a weight: x stays as it is.
    bool may_overwrite_logits = false;
    LossKind loss = LossKind::cross_entropy;
};

struct LossOutputs {
    at::Tensor loss;   // float32 (float64 for float64 inputs): a scalar, or [rows] for Reduction::none
    at::Tensor count;  // int64 scalar: rows that count, of targets that are floating values
};

struct LossNeeds {
    bool x = true, weight = false, bias = false;
};

struct LossGrads {
    at::Tensor x, weight, bias;
};

class Loss : public Component {
public:
    using Component::Component;

    virtual LossOutputs forward(const LossInputs& inputs, const LossParams& params, Saved* saved) = 0;

    // GradientMode::kernel only. `grad_loss` has the shape of `loss`. A component may compute gradients in
    // forward and save them; backward then scales a copy, for a graph may be run again with another
    // grad_loss.
    virtual LossGrads backward(const LossParams& /*params*/, const Saved& /*saved*/,
                               const at::Tensor& /*grad_loss*/, const LossNeeds& /*needs*/) {
        throw std::logic_error("loss: this component declares no backward of its own");
    }
};

}  // namespace switchyard

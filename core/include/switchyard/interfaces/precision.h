// Precision policy: which dtype each class of operation computes in, how a linear layer is called, how the
// loss is scaled.
//
// The core asks the policy, never autocast's thread-local state: a plan can then say before the first step
// what will run in what.
// Loss scaling: Micikevicius et al. 2018 (arXiv:1710.03740).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/saved.h>

namespace switchyard {

// Where a linear layer stands; amax histories and per-layer exceptions are kept by it.
struct LinearSite {
    std::string name;  // "encoder.0.attention.q"
    std::int64_t layer = 0;
    std::int64_t layers = 1;
};

struct LinearInputs {
    at::Tensor x;       // [..., in]
    at::Tensor weight;  // [out, in], as stored
    at::Tensor bias;    // [out] or undefined
};

struct LinearNeeds {
    bool x = true, weight = true, bias = false;
};

struct LinearGrads {
    at::Tensor x, weight, bias;  // dtype of the inputs
};

// Named tensors and numbers of the policy's own state (loss scale, amax history).
struct PrecisionState {
    struct Entry {
        std::string key;
        at::Tensor value;
    };
    std::vector<Entry> entries;
};

class Precision : public Component {
public:
    using Component::Component;

    // dtype in which parameters of this class are stored, and in which its operations read their inputs.
    // Constant for the life of the policy.
    // `layer`: "encoder.3", "encoder", "model"; for a loss the linear layer that makes its logits
    // ("classifier", "lm_head").
    virtual DType storage(OpClass op, const std::string& layer) const = 0;
    virtual DType compute(OpClass op, const std::string& layer) const = 0;

    // y [..., out] = x weight^T + bias, in the policy's way. `saved` as in saved.h.
    virtual at::Tensor linear(const LinearInputs& inputs, const LinearSite& site, Saved* saved) = 0;
    virtual LinearGrads linear_backward(const LinearSite& /*site*/, const Saved& /*saved*/,
                                        const at::Tensor& /*grad_y*/, const LinearNeeds& /*needs*/) {
        throw std::logic_error("precision: this policy declares no backward of its own");
    }

    // Brackets one optimizer step (all its micro-batches): weights may be cast once and kept in between;
    // `recompute` is true while activations are recomputed, when no history may advance.
    virtual void begin_step() {}
    virtual void end_step() {}
    virtual void set_recompute(bool /*recompute*/) {}

    // The factor on the loss; 1 where nothing is scaled. `update` is told once a step whether a non-finite
    // gradient was found.
    virtual double loss_scale() const { return 1.0; }
    virtual void update(bool /*found_inf*/) {}

    virtual PrecisionState state() const { return {}; }
    virtual void load(const PrecisionState& /*state*/) {}
};

}  // namespace switchyard

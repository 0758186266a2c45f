// Precision policy: in which numbers each class of operation computes, and how the loss is scaled.
//
// The core asks the policy, never autocast's thread-local state: a plan can then say before the first step
// what will run in what. Of a linear layer the policy says which numbers are multiplied; how, is said by the
// slot `linear` (linear.h). The core casts parameters once a step.
// Loss scaling: Micikevicius et al. 2018 (arXiv:1710.03740).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>
#include <switchyard/interfaces/linear.h>

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

// The operands of a layer's product, scaled (linear.h).
struct QuantizedInputs {
    LinearOperand x;       // [rows, in]
    LinearOperand weight;  // [out, in]
    LinearOperand kept_x;  // for quantize_gradient, in whatever form; what backward keeps of x
};

struct LinearNeeds {
    bool x = true, weight = true;
};

struct QuantizedGradients {
    LinearOperand grad, weight;    // for the gradient of x: [rows, out], [in, out]
    LinearOperand grad_t, kept_x;  // for the gradient of the weight: [out, rows], [in, rows]
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

    // Whether the float32 products of this linear layer may round their operands to TensorFloat-32.
    virtual bool tf32(const std::string& /*layer*/) const { return false; }

    // For linear layers whose compute() is a float8 type: fills `made` with the operands of a call, or
    // returns false, and the call is multiplied in bfloat16. `for_gradient`: backward will follow, and kept_x
    // is needed. Calls executed() once, with what was decided as variant.
    virtual bool quantize(const LinearInputs& /*inputs*/, const LinearSite& /*site*/, bool /*for_gradient*/,
                          QuantizedInputs& /*made*/) {
        throw std::logic_error("precision: this policy quantizes nothing");
    }
    // The operands of the gradients that are needed, of a call that was quantized.
    virtual QuantizedGradients quantize_gradient(const at::Tensor& /*grad_RO*/,
                                                 const at::Tensor& /*weight_OI*/,
                                                 const LinearOperand& /*kept_x*/, const LinearSite& /*site*/,
                                                 const LinearNeeds& /*needs*/) {
        throw std::logic_error("precision: this policy quantizes nothing");
    }

    // Brackets one optimizer step (all its micro-batches): weights may be quantized once and kept in between;
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

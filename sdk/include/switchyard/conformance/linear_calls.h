// One linear layer of a case: its products as the judge asks for them, in whatever form its operands come.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include <switchyard/conformance/operation.h>
#include <switchyard/conformance/scaled_operand.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/reference/quantized_weight.h>

namespace switchyard::conformance {

// In which form the component's operands come, and for which it is made.
struct OperandForm {
    const char* name = "dense";
    bool request_scaled = false;                                     // WeightFormat::scaled
    bool operands_scaled = false;                                    // else dense ones, in the output's dtype
    ScaleGroup x = ScaleGroup::tensor, weight = ScaleGroup::tensor;  // x: of gradients, too
    reference::WeightQuantization quantization{.bits = 0};           // bits 0: the weight is not quantized
    InputQuantization input = InputQuantization::none;               // with a quantized weight

    bool quantized() const { return quantization.bits != 0; }
};

struct LinearSpec {
    std::string family;
    OperandForm form = {};
    DType dtype = DType::float32;  // of dense operands and of the output
    std::int64_t rows = 10, in = 64, out = 48;
    bool bias = false;
    bool prepared = false;  // the component may make a form of the weight
    bool tf32 = false;
    bool infinity = false, nan = false;  // one value of x is
    Placement x = Placement::dense, weight = Placement::dense, gradient = Placement::dense;
    Placement scaled = Placement::dense;  // of the values in 8 bits
    bool needs = true;
    std::string only = "";  // the one input whose gradient is asked for; empty: both
    bool deterministic = false;
    int threads = 1;
};

// The weight that a quantized case means, of a dense one [out, in]: what its products are held against is the
// weight that this stands for, with the input in the numbers that it asks for.
QuantizedWeight quantized_weight(const OperandForm& form, const at::Tensor& weight_OI);

// The calls on x [R, I], weight [O, I] and bias [O], inputs 0, 1 and 2. With prepared weights there are two
// outputs, y and that of -weight, whose form is made before either is multiplied.
class LinearCalls {
public:
    LinearCalls(const LinearSpec& spec, const Tensors& inputs, const at::Tensor& grad_RO,
                const Variation& variation);

    // All memory that the component reads beside the inputs.
    Tensors operands() const;

    Tensors forward(Linear& component, const Tensors& inputs, Saved* saved);
    Tensors backward(Linear& component, const Saved& saved, const Tensors& grads,
                     const std::vector<bool>& needs);
    // What is wrong with what the component prepared.
    void inspect(std::vector<Fault>& faults) const;

private:
    // A matrix in both directions, as products in 8 bits want it.
    struct Both {
        at::Tensor dense;
        LinearOperand straight, turned;
    };
    struct Held {
        at::Tensor weight, other;
        PreparedWeight of_weight, of_other;
    };
    Both both(const at::Tensor& dense, OperandRole role) const;
    const Both& both_of(const at::Tensor& dense, OperandRole role);
    const Held& held(Linear& component, const at::Tensor& weight);
    LinearWeight weight_of(Linear& component, const at::Tensor& weight);
    at::Tensor quantized_forward(Linear& component, const Tensors& inputs);

    LinearSpec spec_;
    Variation variation_;
    std::list<Both> operands_;  // x, weight, the gradient; then what came in between
    std::list<Held> held_;
    QuantizedWeight quantized_;
    PreparedWeight of_quantized_;
};

}  // namespace switchyard::conformance

// What a precision policy makes of the operands of a linear layer that is to be multiplied in 8 bits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <switchyard/conformance/free_case.h>
#include <switchyard/conformance/values.h>
#include <switchyard/interfaces/precision.h>

namespace switchyard::conformance {

// The layer of all cases: neither the first of its stack nor the last.
extern const LinearSite quantized_site;

// Whether the policy computes this layer in a float8 type.
bool quantizes(const Precision& policy);

// What a call of a layer has to do with.
struct LayerData {
    at::Tensor x;          // [..., in]
    at::Tensor weight_OI;  // as stored
    at::Tensor grad_RO;
};

// What was made of it.
struct Quantized {
    bool refused = false;  // quantize returned false
    QuantizedInputs inputs;
    QuantizedGradients gradients;
};

// Forward's part; executed() must be called once.
Quantized quantize(Binding& binding, const LayerData& data, bool for_gradient, Findings& findings);
// Backward's part: it gets what forward kept, as autograd hands it back.
void add_gradients(Binding& binding, const LayerData& data, const LinearNeeds& needs, Quantized& made);

// Each operand is in the form of linear.h, and what it means is its tensor, rounded to 8 bits.
void check_inputs(const std::string& when, const LayerData& data, const Quantized& made, const char* code,
                  Findings& findings);
void check_gradients(const std::string& when, const LayerData& data, const LinearNeeds& needs,
                     const Quantized& made, const char* code, Findings& findings);

// Bit by bit.
bool same_bits(const Quantized& a, const Quantized& b);

struct QuantizeSpec {
    std::string family;
    DType dtype = DType::float32;             // of the parameters
    std::vector<std::int64_t> rows = {2, 5};  // sizes of x but the last
    std::int64_t in = 64, out = 48;
    double magnitude = 1.0;              // of all values
    bool stored_x = false;               // x comes in the dtype of the parameters, not in bfloat16
    bool infinity = false, nan = false;  // one value of x and one of the gradient is
    Placement x = Placement::dense, weight = Placement::dense, gradient = Placement::dense;
    bool needs = true;      // backward follows
    std::string only = "";  // the one gradient that backward needs; empty: both
    bool loss_scaling = false;
};

// "precision/quantize/stride/x_sliced/f32/2x5x64x48".
std::string name_of(const QuantizeSpec& spec);

void run_quantize(const QuantizeSpec& spec, const std::shared_ptr<const PrecisionRequest>& request,
                  const VerifyOptions& options, Findings& findings);

}  // namespace switchyard::conformance

// Linear layers: the three matrix products of y [..., out] = x [..., in] weight [out, in]^T + bias [out].
//
//     y                    = x weight^T + bias    forward
//     the gradient of x    = grad weight          input_gradient
//     the gradient of w    = grad^T x             weight_gradient
//
// The precision policy says which numbers are multiplied (precision.h): the core casts what a layer is given,
// or has the policy quantize it, keeps what backward needs and sums up the bias's gradient. A component says
// how the numbers are multiplied. Sums are made in float32 at least, unless it is Accuracy::reduced.
//
// Operands come in one of three forms, which LinearRequest::weight_format names:
//   dense   in one dtype, as they stand in the formulas above, with any strides
//   scaled  in 8 bits with scales, with any strides, and always with the product's inner dimension last:
//           weight [in, out] for input_gradient; grad [out, rows] and x [in, rows] for weight_gradient.
//           Calls may then also come with dense operands of LinearRequest::output_dtype: policies leave
//           products to it that are small or not finite.
//   quantized  x dense; the weight stored in 8 or 4 bits (QuantizedWeight), without gradients. It comes once,
//           to prepare_quantized, and calls come with the form that is made there.
//
// Quantization of weights and inputs: Jacob et al. 2018, Quantization and Training of Neural Networks for
// Efficient Integer-Arithmetic-Only Inference, arXiv:1712.05877.
//
// Legend:  R rows  I in  O out  G groups
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>

#include <ATen/core/Tensor.h>

#include <switchyard/interfaces/component.h>

namespace switchyard {

// What shares a scale. Rows are those of the matrix as it is given.
enum class ScaleGroup : std::uint8_t {
    tensor,  // all of it: scales []
    row,     // each row: [rows, 1]
    strip,   // 128 values of a row: [rows, ceil(columns / 128)]
    square   // 128 x 128 values: [ceil(rows / 128), ceil(columns / 128)]
};
inline constexpr std::int64_t scale_block = 128;

// One matrix of a product.
struct LinearOperand {
    at::Tensor values{};         // [rows, columns]
    at::Tensor inverse_scale{};  // float32, in the form of `group`: values * inverse_scale is what is meant
    ScaleGroup group = ScaleGroup::tensor;

    bool scaled() const { return inverse_scale.defined(); }
};

// A weight in a form of the component's own, made once a step in training and once in all for inference.
struct PreparedWeight {
    std::shared_ptr<const void> form;  // nullptr: none is made
    std::int64_t bytes = 0;            // of memory that it holds
    bool replaces_weight = false;      // calls then come with this form alone
};

struct LinearWeight {
    LinearOperand operand{};                   // values undefined where `prepared` replaces them
    const PreparedWeight* prepared = nullptr;  // what `prepare` made of this weight; nullptr: nothing
};

// A weight [O, I] of integers. Its columns lie in groups, the last of which may be shorter; what is meant is
//
//     (value - zero point of its row and group) * scale of its row and group
//
// An input in 8 bits is round(x / s) in -127..127, to the nearest, ties to even, where s is input_scale or,
// with InputQuantization::dynamic, the largest magnitude of the row / 127 (1 where that is 0). Its product
// with the weight is made of exact integers, each group's sum times its scales.
struct QuantizedWeight {
    at::Tensor values;  // int8 [O, I], -127..127; or uint8 [O, ceil(I / 2)], two values of 4 bits in each:
                        // an even column in the low half, the one after it in the high half, each + 8
    at::Tensor scales;  // float32 [O, G], of either sign
    at::Tensor zero_points;  // float32 [O, G], not always whole; undefined: zero
    at::Tensor input_scale;  // float32 [], positive; undefined but for InputQuantization::fixed
    std::int64_t in = 0;     // I
    std::int64_t group = 0;  // columns of a group, a multiple of 16; 0: all of a row

    std::int64_t out() const { return values.size(0); }
    std::int64_t bits() const { return values.scalar_type() == at::kByte ? 4 : 8; }
    std::int64_t groups() const { return group == 0 ? 1 : (in + group - 1) / group; }
};

class Linear : public Component {
public:
    using Component::Component;

    // y [R, O] = x [R, I] weight [O, I]^T + bias [O] (undefined: none). Dense operands: y in their dtype, in
    // which bias comes too. Scaled ones: y in the request's output_dtype or in float32; bias as it is stored.
    // Calls executed() once. GradientMode::differentiable: made of ATen calls.
    virtual at::Tensor forward(const LinearOperand& x, const LinearWeight& weight,
                               const at::Tensor& bias) = 0;

    // GradientMode::kernel only. Dtypes of results as of y.
    // [R, I] = grad [R, O] weight [O, I]
    virtual at::Tensor input_gradient(const LinearOperand& /*grad*/, const LinearWeight& /*weight*/) {
        throw std::logic_error("linear: this component declares no gradients of its own");
    }
    // [O, I] = grad [R, O]^T x [R, I]
    virtual at::Tensor weight_gradient(const LinearOperand& /*grad*/, const LinearOperand& /*x*/) {
        throw std::logic_error("linear: this component declares no gradients of its own");
    }

    // The form of a dense weight [O, I] for the calls to come. `for_gradient`: input_gradient is among them.
    // Does not call executed(). Bindings that answer weight_form_property alike share it.
    virtual PreparedWeight prepare(const at::Tensor& /*weight_OI*/, bool /*for_gradient*/) { return {}; }

    // The form of a quantized weight, which replaces it. All tensors are contiguous and on the request's
    // device; they may be kept. Does not call executed().
    virtual PreparedWeight prepare_quantized(const QuantizedWeight& /*weight*/) {
        throw std::logic_error("linear: this component takes no quantized weights");
    }
};

}  // namespace switchyard

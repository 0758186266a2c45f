#include "linear.h"

#include <memory>

#include <switchyard/reference/linear.h>
#include <switchyard/reference/quantized_weight.h>
#include <switchyard/sdk/serves.h>

namespace switchyard {
namespace {

// a b^T of scaled operands, whose inner dimension is the last one of both: [rows of a, rows of b].
at::Tensor unscaled_product(const LinearOperand& a, const LinearOperand& b) {
    return reference::linear(reference::unscaled(a), reference::unscaled(b), {});
}

struct NaiveForm {
    at::Tensor weight_OI;  // float32
    at::Tensor input_scale;
};

}  // namespace

Verdict NaiveLinear::supports(const LinearRequest& request, const HostInfo& host, const Options&) {
    Verdict verdict;
    if (request.weight_format == WeightFormat::dense) {
        require_native(verdict, request, host);
        require_dense(verdict, request);
        return verdict;
    }
    if (request.weight_format == WeightFormat::quantized) {
        REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu with quantized weights",
                name(request.device));
        require_native(verdict, request, host);
        require_without_gradient(verdict, request);
        return verdict;
    }
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu with scaled operands",
            name(request.device));
    REQUIRE(verdict, request.dtype == DType::float8_e4m3fn || request.dtype == DType::float8_e5m2,
            Code::DType, "dtype", "float8_e4m3fn or float8_e5m2 with scaled operands", name(request.dtype));
    return verdict;
}

at::Tensor NaiveLinear::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    executed();
    if (weight.prepared != nullptr) {
        const auto& form = *static_cast<const NaiveForm*>(weight.prepared->form.get());
        const bool rounds = input_ != InputQuantization::none;
        const at::Tensor x_RI = rounds ? reference::requantized_input(x.values, form.input_scale) : x.values;
        const at::Tensor y_RO = reference::linear(x_RI.to(at::kFloat), form.weight_OI, bias);
        return y_RO.to(x.values.scalar_type());
    }
    return reference::linear(reference::unscaled(x), reference::unscaled(weight.operand), bias);
}

at::Tensor NaiveLinear::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    if (grad.scaled()) return unscaled_product(grad, weight.operand);
    return reference::linear(grad.values, weight.operand.values.t(), {});
}

at::Tensor NaiveLinear::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    if (grad.scaled()) return unscaled_product(grad, x);
    return reference::linear(grad.values.t(), x.values.t(), {});
}

PreparedWeight NaiveLinear::prepare_quantized(const QuantizedWeight& weight) {
    const auto form =
        std::make_shared<const NaiveForm>(NaiveForm{reference::dequantized(weight), weight.input_scale});
    return {form, static_cast<std::int64_t>(form->weight_OI.nbytes()), true};
}

}  // namespace switchyard

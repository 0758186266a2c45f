#include "linear.h"

#include <switchyard/sdk/libtorch_products.h>
#include <switchyard/sdk/serves.h>

#include "products.h"

namespace switchyard {

GemmLinear::GemmLinear(const CreateInfo& info)
    : Linear(info),
      options_{.fixed_order = info.request->deterministic && has_fixed_order(),
               .widen_bfloat16 = libtorch_multiplies_one_by_one(info)} {}

Verdict GemmLinear::supports(const LinearRequest& request, const HostInfo&, const Options&,
                             std::string_view variant) {
    Verdict verdict;
    REQUIRE(verdict, request.device == Device::cpu, Code::Device, "device", "cpu", name(request.device),
            "set linear.backend = \"torch\"");
    REQUIRE(verdict, is_float_to_32_bits(request.dtype), Code::DType, "dtype", "float32, bfloat16 or float16",
            name(request.dtype));
    require_dense(verdict, request);
    REQUIRE(verdict, variant.empty(), Code::Variant, "variant",
            "none: how a product is made is decided by its sizes", variant);
    return verdict;
}

at::Tensor GemmLinear::forward(const LinearOperand& x, const LinearWeight& weight, const at::Tensor& bias) {
    ran_ = {};
    at::Tensor y = linear_product(x.values, weight.operand.values, bias, options_, ran_);
    executed(ran_.variant);
    return y;
}

at::Tensor GemmLinear::input_gradient(const LinearOperand& grad, const LinearWeight& weight) {
    ran_ = {};
    return switchyard::input_gradient(grad.values, weight.operand.values, options_, ran_);
}

at::Tensor GemmLinear::weight_gradient(const LinearOperand& grad, const LinearOperand& x) {
    ran_ = {};
    return switchyard::weight_gradient(grad.values, x.values, options_, ran_);
}

}  // namespace switchyard

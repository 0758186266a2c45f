#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "products.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <switchyard/sdk/cpu/float_rows-inl.h>
#include <switchyard/sdk/cpu/panels-inl.h>

#include "products.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::gemm::HWY_NAMESPACE {

inline PanelFunctions panels() { return switchyard::HWY_NAMESPACE::panel_functions(); }
inline RowFunctions rows() { return switchyard::HWY_NAMESPACE::row_functions(); }

}  // namespace switchyard::gemm::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <optional>

#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>

#include <switchyard/sdk/cpu/tile_product.h>

#include "few_rows.h"

namespace switchyard::gemm {

HWY_EXPORT(panels);
HWY_EXPORT(rows);

const tiles::Functions& functions() {
    static const tiles::Functions chosen{HWY_DYNAMIC_DISPATCH(panels)(), HWY_DYNAMIC_DISPATCH(rows)()};
    return chosen;
}

}  // namespace switchyard::gemm

namespace switchyard {
namespace {

// Whether numbers of 16 bits are multiplied as float32, and the result is rounded once, which is exact but
// for the sum. Float16: CPUs without AVX-512 FP16 have no product of it, and LibTorch's own takes fifty times
// as long as this detour. Bfloat16 so where LibTorch has no product of it either; in a fixed order, since
// tiles are made of whole pairs.
bool widens(const at::Tensor& x, const ProductOptions& options, std::int64_t rows, std::int64_t inner,
            std::int64_t columns) {
    if (x.scalar_type() == at::kHalf) return true;
    if (x.scalar_type() != at::kBFloat16) return false;
    if (options.widen_bfloat16) return true;
    return options.fixed_order &&
           (!tiles::multiplies(at::kBFloat16) || rows % 2 != 0 || inner % 2 != 0 || columns % 2 != 0);
}

at::Tensor wide(const at::Tensor& x) { return x.defined() ? x.to(at::kFloat) : x; }

bool in_tiles(const at::Tensor& a, std::int64_t rows, std::int64_t inner, std::int64_t columns,
              bool fixed_order, Ran& ran) {
    const bool can = fixed_order && tiles::multiplies(a.scalar_type()) && inner > 0;
    if (!can && !tiles::pays(a.scalar_type(), rows, inner, columns)) return false;
    ran = {"tiles", tiles::multiplied_in(a.scalar_type())};
    return true;
}

template <class Number>
tiles::Matrix<const Number> matrix(const at::Tensor& x) {
    return {x.const_data_ptr<Number>(), x.size(0), x.size(1), x.stride(0)};
}

template <class Number>
tiles::Matrix<Number> result(at::Tensor& x) {
    return {x.mutable_data_ptr<Number>(), x.size(0), x.size(1), x.stride(0)};
}

// body(number) with a number of x's type.
template <class Body>
void with_number(const at::Tensor& x, const Body& body) {
    if (x.scalar_type() == at::kFloat) {
        body(float());
    } else {
        body(c10::BFloat16());
    }
}

}  // namespace

bool has_fixed_order() { return tiles::multiplies(at::kFloat); }

at::Tensor linear_product(const at::Tensor& x_RI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                          const ProductOptions& options, Ran& ran) {
    const std::int64_t rows = x_RI.size(0), in = weight_OI.size(1), out = weight_OI.size(0);
    if (gemm::streams(x_RI, weight_OI)) {
        ran = {"stream", "fp32"};
        return gemm::streamed_product(x_RI, weight_OI, bias_O);
    }
    if (widens(x_RI, options, rows, in, out))
        return linear_product(wide(x_RI), wide(weight_OI), wide(bias_O), options, ran).to(x_RI.scalar_type());
    if (!in_tiles(x_RI, rows, in, out, options.fixed_order, ran))
        return at::linear(x_RI, weight_OI, bias_O.defined() ? std::optional(bias_O) : std::nullopt);
    const at::Tensor x = x_RI.contiguous(), weight = weight_OI.contiguous();
    const at::Tensor bias = bias_O.defined() ? bias_O.to(at::kFloat).contiguous() : bias_O;
    at::Tensor y_RO = at::empty({rows, out}, x.options());
    with_number(x, [&]<class Number>(Number) {
        tiles::multiply<Number>(gemm::functions(), matrix<Number>(x), matrix<Number>(weight), true,
                                result<Number>(y_RO),
                                bias.defined() ? bias.const_data_ptr<float>() : nullptr);
    });
    return y_RO;
}

at::Tensor input_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                          const ProductOptions& options, Ran& ran) {
    const std::int64_t rows = grad_RO.size(0), out = weight_OI.size(0), in = weight_OI.size(1);
    if (widens(grad_RO, options, rows, out, in))
        return input_gradient(wide(grad_RO), wide(weight_OI), options, ran).to(grad_RO.scalar_type());
    if (!in_tiles(grad_RO, rows, out, in, options.fixed_order, ran)) return at::mm(grad_RO, weight_OI);
    const at::Tensor grad = grad_RO.contiguous(), weight = weight_OI.contiguous();
    at::Tensor x_RI = at::empty({grad.size(0), weight.size(1)}, grad.options());
    with_number(grad, [&]<class Number>(Number) {
        tiles::multiply<Number>(gemm::functions(), matrix<Number>(grad), matrix<Number>(weight), false,
                                result<Number>(x_RI));
    });
    return x_RI;
}

at::Tensor weight_gradient(const at::Tensor& grad_RO, const at::Tensor& x_RI, const ProductOptions& options,
                           Ran& ran) {
    const std::int64_t rows = grad_RO.size(0), out = grad_RO.size(1), in = x_RI.size(1);
    if (widens(grad_RO, options, out, rows, in))
        return weight_gradient(wide(grad_RO), wide(x_RI), options, ran).to(grad_RO.scalar_type());
    if (!in_tiles(grad_RO, out, rows, in, options.fixed_order, ran)) return at::mm(grad_RO.t(), x_RI);
    const at::Tensor grad = grad_RO.contiguous(), x = x_RI.contiguous();
    at::Tensor weight_OI = at::empty({grad.size(1), x.size(1)}, grad.options());
    with_number(grad, [&]<class Number>(Number) {
        tiles::multiply_transposed<Number>(gemm::functions(), matrix<Number>(grad), matrix<Number>(x),
                                           result<Number>(weight_OI));
    });
    return weight_OI;
}

}  // namespace switchyard
#endif

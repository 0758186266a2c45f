// The three products of a linear layer: of few rows streamed (few_rows.h), in tiles where those are faster
// (<switchyard/sdk/cpu/tile_product.h>), else by LibTorch. Operands have one dtype and any strides.
//
// Legend:  R rows  I in  O out
#pragma once

#include <ATen/core/Tensor.h>

namespace switchyard {

// How a product was multiplied: a variant of the component, and in which numbers (nullptr: LibTorch's own).
// A product leaves it as it is where LibTorch multiplied.
struct Ran {
    const char* variant = "libtorch";
    const char* computed_in = nullptr;
};

struct ProductOptions {
    // Tiles and streamed sums are functions of the sizes alone, LibTorch's products are none: all else that
    // the CPU multiplies is in tiles, also where those are slower, so that the bits do not depend on the
    // number of threads.
    bool fixed_order = false;
    // Bfloat16 is multiplied as float32, since LibTorch multiplies it number by number.
    bool widen_bfloat16 = false;
};

// Whether this processor has what `fixed_order` takes.
bool has_fixed_order();

// [R, O] = x [R, I] weight [O, I]^T + bias [O] (or undefined)
at::Tensor linear_product(const at::Tensor& x_RI, const at::Tensor& weight_OI, const at::Tensor& bias_O,
                          const ProductOptions& options, Ran& ran);

// [R, I] = grad [R, O] weight [O, I]
at::Tensor input_gradient(const at::Tensor& grad_RO, const at::Tensor& weight_OI,
                          const ProductOptions& options, Ran& ran);

// [O, I] = grad [R, O]^T x [R, I]
at::Tensor weight_gradient(const at::Tensor& grad_RO, const at::Tensor& x_RI, const ProductOptions& options,
                           Ran& ran);

}  // namespace switchyard

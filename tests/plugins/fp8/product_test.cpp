// Products of scaled float8 matrices against float64. To add a case: sizes.
#include "product.h"

#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <switchyard/reference/linear.h>

#include "float8.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::fp8;

namespace {

// Half the distance to the next value, of a value and of the smallest ones, where it does not shrink any
// more.
struct Rounding {
    double relative, absolute;
};
Rounding rounding_of(Format format) {
    return format == Format::e4m3 ? Rounding{0x1p-4, 0x1p-10} : Rounding{0x1p-3, 0x1p-17};
}

at::Tensor in_float64(const LinearOperand& x) { return reference::unscaled(x).to(at::kDouble); }

struct Sizes {
    std::int64_t m, n, k;
};

struct Groups {
    ScaleGroup first, second;
};

}  // namespace

TEST_CASE("a product is that of the decoded matrices but for the rounding of float32 sums") {
    const auto [first, second] =
        GENERATE(Groups{ScaleGroup::tensor, ScaleGroup::tensor}, Groups{ScaleGroup::row, ScaleGroup::row},
                 Groups{ScaleGroup::strip, ScaleGroup::square}, Groups{ScaleGroup::strip, ScaleGroup::strip});
    for (const Sizes s : {Sizes{1, 1, 1}, Sizes{16, 32, 48}, Sizes{7, 129, 130}, Sizes{130, 17, 300}}) {
        INFO(s.m << " x " << s.n << " x " << s.k);
        const auto a = quantize(at::randn({s.m, s.k}), Format::e5m2, first).operand;
        const auto b = quantize(at::randn({s.n, s.k}), Format::e4m3, second).operand;
        const auto y = product(a, b, false);
        const auto exact = at::mm(in_float64(a), in_float64(b).t());
        const auto sizes = at::mm(in_float64(a).abs(), in_float64(b).abs().t());
        // Each of k products and sums rounds once, in whatever order (Higham 2002, section 3.1).
        const double rounding = 0x1p-24 * (static_cast<double>(s.k) + 2.0);
        CHECK(y.sizes() == exact.sizes());
        CHECK((y - exact).abs().le(sizes * rounding).all().item<bool>());
    }
}

TEST_CASE("each value is off by half a step of its format, and a product by what follows from that") {
    const at::Tensor x = at::randn({40, 200}), w = at::randn({24, 200});
    for (const Format format : {Format::e4m3, Format::e5m2}) {
        const auto a = quantize(x, format, ScaleGroup::row).operand;
        const auto b = quantize(w, Format::e4m3, ScaleGroup::row).operand;
        const auto bound = [](const at::Tensor& plain, const LinearOperand& cast, Format of) {
            const auto [relative, absolute] = rounding_of(of);
            // The float32 product with the scale and the way back round, too.
            return plain.abs() * (relative + 0x1p-21) + cast.inverse_scale * absolute;
        };
        const auto off_x = bound(x, a, format), off_w = bound(w, b, Format::e4m3);
        CHECK((reference::unscaled(a) - x).abs().le(off_x).all().item<bool>());
        CHECK((reference::unscaled(b) - w).abs().le(off_w).all().item<bool>());
        const auto wide = [](const at::Tensor& t) { return t.abs().to(at::kDouble); };
        const auto allowed =
            at::mm(wide(off_x), (wide(w) + wide(off_w)).t()) + at::mm(wide(x), wide(off_w).t());
        const auto exact = at::mm(x.to(at::kDouble), w.to(at::kDouble).t());
        CHECK((product(a, b, true) - exact).abs().le(allowed * 1.001).all().item<bool>());
    }
}

TEST_CASE("a transposed matrix has its own scales") {
    const at::Tensor x = at::randn({140, 200});
    for (const ScaleGroup group : {ScaleGroup::tensor, ScaleGroup::square}) {
        const auto turned = transposed(quantize(x, Format::e4m3, group).operand);
        const auto cast = quantize(x.t(), Format::e4m3, group).operand;
        CHECK(reference::unscaled(turned).equal(reference::unscaled(cast)));
    }
    CHECK_THROWS_WITH(transposed(quantize(x, Format::e4m3, ScaleGroup::row).operand),
                      "fp8: scales of rows are not those of columns");
}

// Casts and scales of fp8, bit by bit against ml_dtypes and numpy. To add a case:
// tests/fixtures/make_float8.py.
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <switchyard/reference/linear.h>

#include "fixture.h"
#include "float8.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::fp8;

namespace {

Format format_of(const std::string& name) { return name.ends_with("e4m3") ? Format::e4m3 : Format::e5m2; }

ScaleGroup group_of(const std::string& name) {
    if (name.starts_with("quantize/tensor")) return ScaleGroup::tensor;
    if (name.starts_with("quantize/row")) return ScaleGroup::row;
    return name.starts_with("quantize/strip") ? ScaleGroup::strip : ScaleGroup::square;
}

// Codes of the same values: any NaN is as good as any other.
bool same_codes(const at::Tensor& found, const at::Tensor& codes, Format format) {
    const auto meant = codes.view(scalar_type(format)).to(at::kFloat);
    const auto is = found.to(at::kFloat);
    const auto bits = found.view(at::kByte).eq(codes);
    return bits.logical_or(meant.isnan().logical_and(is.isnan())).all().item<bool>();
}

bool equal_bits(const at::Tensor& a, const at::Tensor& b) {
    return a.sizes() == b.sizes() && a.contiguous().view(at::kInt).equal(b.contiguous().view(at::kInt));
}

test::FixtureCase fixture(const std::string& name) {
    for (auto& one : test::load_fixture("float8")) {
        if (one.name == name) return one;
    }
    throw std::runtime_error("the fixture has no case " + name);
}

at::Tensor decoded(const Scaled& x) { return reference::unscaled(x.operand); }

at::Tensor every_bfloat16() {
    return at::arange(65536, at::kInt).to(at::kShort).view(at::kBFloat16).to(at::kFloat);
}

}  // namespace

TEST_CASE("all 65,536 bfloat16 values are cast to float8 as ml_dtypes casts them, saturating") {
    for (const std::string name : {"e4m3", "e5m2"}) {
        INFO(name);
        const auto format = format_of(name);
        const auto found = saturating_cast(every_bfloat16(), format);
        CHECK(found.scalar_type() == scalar_type(format));
        CHECK(same_codes(found, fixture(name)["codes"], format));
    }
}

TEST_CASE("casts do not depend on where in memory a value stands") {
    const auto all = every_bfloat16();
    for (const std::string name : {"e4m3", "e5m2"}) {
        const auto format = format_of(name);
        const auto codes = fixture(name)["codes"];
        for (const std::int64_t begin : {1, 7, 65535})
            CHECK(same_codes(saturating_cast(all.narrow(0, begin, 65536 - begin), format),
                             codes.narrow(0, begin, 65536 - begin).clone(), format));
        CHECK(same_codes(saturating_cast(all.view({256, 256}).t(), format).contiguous(),
                         codes.view({256, 256}).t().contiguous(), format));
    }
}

TEST_CASE("what each of the 256 codes means is what ml_dtypes says") {
    for (const std::string name : {"e4m3", "e5m2"}) {
        INFO(name);
        const auto codes = at::arange(256, at::kInt).to(at::kByte).view({1, 256});
        const LinearOperand all{codes.view(scalar_type(format_of(name))), at::ones({})};
        const auto values = fixture(name)["values"], found = reference::unscaled(all).view({256});
        CHECK(found.isnan().equal(values.isnan()));
        CHECK(equal_bits(at::where(values.isnan(), 0.0F, found), at::where(values.isnan(), 0.0F, values)));
        CHECK(values.masked_select(values.isfinite()).max().item<float>() == largest(format_of(name)));
    }
}

TEST_CASE("scaled casts have the bits of a simulation in numpy, whatever shares a scale") {
    int cases = 0;
    for (const auto& one : test::load_fixture("float8")) {
        if (!one.name.starts_with("quantize/")) continue;
        INFO(one.name);
        const auto format = format_of(one.name);
        const auto codes = one["codes"];
        const auto x = one["x"].narrow(0, 0, codes.size(0));
        const auto found = quantize(x, format, group_of(one.name));
        CHECK(same_codes(found.operand.values, codes, format));
        CHECK(equal_bits(found.operand.inverse_scale, one["inverse"]));
        CHECK(equal_bits(found.amax, x.abs().max()));
        ++cases;
    }
    CHECK(cases == 8);
}

TEST_CASE("a group that holds infinity or NaN says so by its scale, and no other group does") {
    auto x = at::ones({2, 256});
    for (const float bad : {INFINITY, NAN}) {
        x[1][130] = bad;
        CHECK(std::isnan(quantize(x, Format::e4m3, ScaleGroup::tensor).operand.inverse_scale.item<float>()));
        CHECK(
            decoded(quantize(x, Format::e4m3, ScaleGroup::row)).isnan().sum(1).equal(at::tensor({0L, 256L})));
        CHECK(decoded(quantize(x, Format::e5m2, ScaleGroup::strip))
                  .isnan()
                  .sum(1)
                  .equal(at::tensor({0L, 128L})));
        CHECK(decoded(quantize(x, Format::e4m3, ScaleGroup::square))
                  .isnan()
                  .sum(1)
                  .equal(at::tensor({128L, 128L})));
        CHECK_FALSE(std::isfinite(quantize(x, Format::e4m3, ScaleGroup::strip).amax.item<float>()));
    }
}

TEST_CASE("with a scale given, what does not fit is the largest value") {
    const auto x = at::tensor({1.0F, -1000.0F, 3.0F}).view({1, 3});
    const auto cast = quantize(x, Format::e4m3, ScaleGroup::tensor, at::scalar_tensor(2.0F, at::kFloat));
    CHECK(decoded(cast).equal(at::tensor({1.0F, -224.0F, 3.0F}).view({1, 3})));
    CHECK(cast.amax.item<float>() == 1000.0F);
}

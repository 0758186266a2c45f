// Quantized weights: what the integers and scales of small ones are, worked out by hand, and how far any may
// be from what it was made of.
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <switchyard/reference/quantized_weight.h>

#include <switchyard_test.h>

using namespace switchyard;
using reference::WeightQuantization;

namespace {

at::Tensor row(const std::vector<float>& values) { return at::tensor(values).unsqueeze(0); }

std::vector<std::int64_t> integers(const QuantizedWeight& weight) {
    const at::Tensor all = reference::unpacked(weight).to(at::kLong).contiguous();
    return {all.const_data_ptr<std::int64_t>(), all.const_data_ptr<std::int64_t>() + all.numel()};
}

std::string refused(const at::Tensor& weight, const WeightQuantization& how) {
    try {
        reference::quantized(weight, how);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "nothing";
}

}  // namespace

TEST_CASE("a row in 8 bits: its largest magnitude is 127, ties go to the even integer") {
    const auto made = reference::quantized(row({-12.7F, 0.05F, 0.15F, 6.35F, 0.0F}), {8, 0});
    CHECK(made.scales.item<float>() == switchyard::test::Approx(0.1F));
    CHECK(made.bits() == 8);
    const auto found = integers(made);
    CHECK(found[0] == -127);
    CHECK((found[1] == 0 || found[1] == 1));
    CHECK(found[4] == 0);
    CHECK(integers(reference::quantized(row({127.0F, 0.5F, 1.5F, -2.5F}), {8, 0})) ==
          std::vector<std::int64_t>{127, 0, 2, -2});
}

TEST_CASE("a row in 4 bits: its farthest value is -8, whichever its sign, and two lie in a byte") {
    const auto made = reference::quantized(row({4.0F, -3.5F, 0.5F}), {4, 0});
    CHECK(made.scales.item<float>() == -0.5F);
    CHECK(integers(made) == std::vector<std::int64_t>{-8, 7, -1});
    CHECK(made.values.sizes() == at::IntArrayRef({1, 2}));
    CHECK(made.values[0][0].item<int>() == 0 + 16 * 15);
    CHECK(made.values[0][1].item<int>() == 7 + 16 * 8);
    CHECK(reference::dequantized(made).equal(row({4.0F, -3.5F, 0.5F})));
}

TEST_CASE("with zero points the smallest value is the lowest integer and the largest the highest") {
    const auto made = reference::quantized(row({-5.0F, 10.0F, 2.0F}), {4, 0, true});
    CHECK(made.scales.item<float>() == 1.0F);
    CHECK(integers(made) == std::vector<std::int64_t>{-8, 7, -1});
    CHECK(made.zero_points.item<float>() == -3.0F);
    CHECK(integers(reference::quantized(row({30.0F, 16.0F}), {4, 0, true})) ==
          std::vector<std::int64_t>{7, 0});
    CHECK(reference::dequantized(made).equal(row({-5.0F, 10.0F, 2.0F})));
}

TEST_CASE("no value is farther than half a step from what it was, in any form") {
    const at::Tensor weight = at::randn({5, 300});
    for (const std::int64_t bits : {8, 4}) {
        for (const std::int64_t group : {0, 16, 128}) {
            for (const bool zero_points : {false, true}) {
                INFO(bits << " bits, groups of " << group << (zero_points ? ", zero points" : ""));
                const auto made = reference::quantized(weight, {bits, group, zero_points});
                CHECK(reference::problem_of(made, 5, 300) == "");
                CHECK(made.groups() == (group == 0 ? 1 : (300 + group - 1) / group));
                const at::Tensor steps =
                    made.scales.abs().repeat_interleave(group == 0 ? 300 : group, 1).narrow(1, 0, 300);
                // Of 4 bits without zero points what is opposite the farthest value has one step less.
                const double most = bits == 4 && !zero_points ? 1.0 : 0.5;
                const at::Tensor off = (reference::dequantized(made) - weight).abs();
                CHECK(off.le(steps * (most + 1e-3)).all().item<bool>());
            }
        }
    }
}

TEST_CASE("zeros are zeros, of no columns there are none, and packing is undone by unpacking") {
    CHECK(reference::dequantized(reference::quantized(at::zeros({2, 20}), {4, 16})).eq(0).all().item<bool>());
    CHECK(reference::dequantized(reference::quantized(at::zeros({2, 0}), {8, 0})).sizes() ==
          at::IntArrayRef({2, 0}));
    const auto made = reference::quantized(at::randn({3, 33}), {4, 16});
    CHECK(reference::packed(reference::unpacked(made)).equal(made.values));
}

TEST_CASE(
    "an input in 8 bits has a scale for each row, or the one that is given and values that do not fit") {
    const at::Tensor x = at::tensor({2.54F, -1.28F, 0.02F, 0.0F, 0.0F, 0.0F}).reshape({2, 3});
    CHECK(reference::requantized_input(x, {}).allclose(x));
    const at::Tensor fixed = reference::requantized_input(x, at::scalar_tensor(0.01, at::kFloat));
    CHECK(fixed.allclose(at::tensor({1.27F, -1.27F, 0.02F, 0.0F, 0.0F, 0.0F}).reshape({2, 3})));
}

TEST_CASE("weights that cannot be quantized are refused, and quantized ones that do not fit are told") {
    CHECK(refused(at::zeros({2, 8}), {6, 0}) == "a weight is quantized in 8 or 4 bits, not 6");
    CHECK(refused(at::zeros({2, 8}), {8, 20}) == "a group has a multiple of 16 columns, not 20");
    CHECK(refused(at::full({2, 8}, INFINITY), {8, 0}) ==
          "a weight with values that are not finite cannot be quantized");
    const auto made = reference::quantized(at::randn({4, 40}), {4, 16});
    CHECK(reference::problem_of(made, 4, 40) == "");
    CHECK(reference::problem_of(made, 4, 41) == "it has 40 columns, expected 41");
    CHECK(reference::problem_of(made, 5, 40) == "values are Byte [4, 20], expected Byte [5, 20]");
    auto changed = made;
    changed.group = 32;
    CHECK(reference::problem_of(changed, 4, 40) == "scales are Float [4, 3], expected Float [4, 2]");
    changed = made;
    changed.scales = made.scales * INFINITY;
    CHECK(reference::problem_of(changed, 4, 40) == "a scale is not finite");
    changed = made;
    changed.input_scale = at::scalar_tensor(0.0, at::kFloat);
    CHECK(reference::problem_of(changed, 4, 40) == "the input scale is not a positive number");
}

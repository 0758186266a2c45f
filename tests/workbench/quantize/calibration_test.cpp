// Scales of inputs, and what quantization costs a layer, against sums written out.
#include "core/workbench/quantize/calibration.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include "core/workbench/quantize/sensitivity.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::QuantizationMethod;

namespace {

at::Tensor filled(double value) { return at::full({4}, value, at::TensorOptions().dtype(at::kFloat)); }

}  // namespace

TEST_CASE("a step of an input is its range over 127, and 1 where the input is nothing but zeros") {
    std::map<std::string, quantize::Magnitudes> magnitudes;
    magnitudes["a"].add(filled(-2.54));
    magnitudes["b"].add(filled(0.0));
    const auto scales = quantize::input_scales(magnitudes, {quantize::RangeRule::minmax, 100.0});
    CHECK(scales.at("a") == Approx(0.02));
    CHECK(scales.at("b") == 1.0);
}

TEST_CASE("the error of a layer is that of its output where rows are known, else of its weight") {
    model::Parameters parameters;
    const auto options = at::TensorOptions().dtype(at::kFloat);
    // Whole numbers up to 127 in each row: 8 bits hold them as they are.
    parameters.add("exact.weight", at::arange(0, 128, options).reshape({1, 128}).repeat({3, 1}));
    parameters.add("rough.weight", at::randn({32, 128}, options));
    const std::vector<std::string> layers{"exact", "rough"};
    config::QuantizationConfig how;
    how.method = QuantizationMethod::weight_int8;
    auto errors = quantize::sensitivities(parameters, layers, how, {}, {});
    CHECK(errors.at("exact") == Approx(0.0).margin(1e-6));
    CHECK(errors.at("rough") > 0.002);
    CHECK(errors.at("rough") < 0.02);

    how.method = QuantizationMethod::fixed;
    std::map<std::string, at::Tensor> rows;
    rows["exact"] = at::full({2, 128}, 3.0, options);
    rows["rough"] = at::full({2, 128}, 0.4, options);
    // 3 is three steps of 1; 0.4 is none.
    errors = quantize::sensitivities(parameters, layers, how, {{"exact", 1.0}, {"rough", 1.0}}, rows);
    CHECK(errors.at("exact") == Approx(0.0).margin(1e-6));
    CHECK(errors.at("rough") == Approx(1.0));
    // Beyond 127 steps an input is cut off: 2 * 127 of 3 * 127 are left.
    rows["exact"] = at::full({2, 128}, 3.0 * 127.0, options);
    errors = quantize::sensitivities(parameters, layers, how, {{"exact", 2.0}, {"rough", 1.0}}, rows);
    CHECK(errors.at("exact") == Approx(1.0 / 3.0).epsilon(1e-4));
}

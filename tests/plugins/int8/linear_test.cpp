// What conformance does not see: how far a quantized layer is from the dense one, by the theory of rounding;
// that one form serves few rows and many; and that the form is as small as it should be.
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>

#include <switchyard/interfaces/component_property.h>
#include <switchyard/interfaces/linear.h>
#include <switchyard/reference/quantized_weight.h>

#include "byte_kernels.h"
#include "digit_kernels.h"
#include "tests/plugins/builtin/builtin.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

// Legend:  R rows  I in  O out
LinearRequest request(Phase phase = Phase::decode) {
    LinearRequest made;
    made.phase = phase;
    made.rows = {0, 1024};
    made.in = 512;
    made.out = 200;
    made.bias = made.allow_reduced = true;
    return made;
}

double relative(const at::Tensor& found, const at::Tensor& meant) {
    const at::Tensor wide = meant.to(at::kDouble);
    return std::sqrt(((found.to(at::kDouble) - wide).square().mean() / wide.square().mean()).item<double>());
}

// A form for each call: as the core has it.
at::Tensor multiply(Linear& linear, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
    const at::NoGradGuard no_grad;
    const auto form = linear.prepare(weight, false);
    CHECK(form.replaces_weight);
    return linear.forward({x}, {{}, &form}, bias);
}

// Rounding to a step s errs by s / sqrt(12) in the root mean square: of values of size 1, whose largest of
// `group` is about sqrt(2 ln(2 group)), with so many levels between the smallest and the largest.
double step_error(double group, double levels) {
    return 2.0 * std::sqrt(2.0 * std::log(2.0 * group)) / levels / std::sqrt(12.0);
}

}  // namespace

TEST_CASE("a quantized layer is off by what rounding makes of its numbers, few rows and many") {
    const auto asked = request();
    const at::Tensor weight = at::randn({200, 512}), bias = at::randn({200});
    struct Case {
        const char* id;
        double error;
    };
    const double row = step_error(512, 254), group = step_error(64, 15);
    const Case cases[] = {{"dynamic", std::hypot(row, row)}, {"weight_int8", row}, {"weight_int4", group}};
    for (const auto& one : cases) {
        const auto linear = test::make<Linear>("int8", one.id, asked);
        for (const std::int64_t rows : {1, 3, 8, 40, 300}) {
            INFO(one.id << ", " << rows << " rows");
            const at::Tensor x = at::randn({rows, 512});
            const double error = relative(multiply(*linear, x, weight, bias), at::linear(x, weight, bias));
            CHECK(error < 1.3 * one.error);
            CHECK(error > 0.4 * one.error);
        }
    }
}

TEST_CASE("groups have scales of their own: one large value spoils its group alone") {
    Options grouped;
    grouped.set("group", std::int64_t{32});
    const auto asked = request();
    at::Tensor weight = at::randn({200, 512});
    weight.select(1, 3).mul_(100.0);
    at::Tensor x = at::randn({4, 512});
    x.select(1, 3).zero_();
    const at::Tensor meant = at::linear(x, weight);
    const auto rows = test::make<Linear>("int8", "weight_int8", asked);
    const auto groups = test::make<Linear>("int8", "weight_int8", asked, "", grouped);
    CHECK(relative(multiply(*groups, x, weight, {}), meant) * 3.0 <
          relative(multiply(*rows, x, weight, {}), meant));
}

TEST_CASE("forms are as small as their bits, and phases whose answers are alike may share them") {
    const at::Tensor weight = at::randn({4096, 512});
    const auto decode = request(Phase::decode), prefill = request(Phase::prefill);
    const auto bytes = [&](const char* id) {
        return test::make<Linear>("int8", id, decode)->prepare(weight, false).bytes;
    };
    const std::int64_t values = 4096 * 512;
    CHECK((bytes("weight_int8") >= values && bytes("weight_int8") < values * 102 / 100));
    CHECK((bytes("weight_int4") >= values / 2 && bytes("weight_int4") < values * 66 / 100));
    CHECK((bytes("dynamic") >= values && bytes("dynamic") < values * 103 / 100));
    for (const char* id : {"dynamic", "weight_int8", "weight_int4"}) {
        const auto a = test::make<Linear>("int8", id, decode), b = test::make<Linear>("int8", id, prefill);
        const std::string one(static_cast<const char*>(a->query(weight_form_property)));
        CHECK(one == static_cast<const char*>(b->query(weight_form_property)));
        Options grouped;
        grouped.set("group", std::int64_t{128});
        const auto c = test::make<Linear>("int8", id, decode, "", grouped);
        CHECK(one != static_cast<const char*>(c->query(weight_form_property)));
    }
}

TEST_CASE("what ran is counted by the kernel of the processor, or by how the weight was read") {
    const auto asked = request();
    const at::Tensor weight = at::randn({200, 512});
    const auto bytes = test::make<Linear>("int8", "dynamic", asked);
    multiply(*bytes, at::randn({2, 512}), weight, {});
    CHECK(bytes.counter->calls() == std::map<std::string, std::uint64_t>{{int8::byte_kernels().name, 1}});
    const auto floats = test::make<Linear>("int8", "weight_int4", asked);
    multiply(*floats, at::randn({2, 512}), weight, {});
    multiply(*floats, at::randn({64, 512}), weight, {});
    const auto* const digits = int8::digit_kernels();
    const std::string few = digits == nullptr ? "stream" : digits->name;
    CHECK(floats.counter->calls() == std::map<std::string, std::uint64_t>{{"decoded", 1}, {few, 1}});
}

TEST_CASE("few rows of a weight alone are as exact as float32, whatever magnitudes x has, finite or not") {
    auto asked = request();
    asked.weight_format = WeightFormat::quantized;
    for (const std::int64_t bits : {8, 4}) {
        asked.weight_bits = bits;
        const auto stored = reference::quantized(at::randn({200, 512}), {bits, 64, true});
        const auto linear = test::make<Linear>("int8", bits == 8 ? "weight_int8" : "weight_int4", asked);
        const auto form = linear->prepare_quantized(stored);
        const at::Tensor dense = reference::dequantized(stored).to(at::kDouble), bias = at::randn({200});
        for (const double size : {1e-37, 1e-30, 1e-25, 1.0, 1e20}) {
            for (const std::int64_t rows : {1, 2, 3, 5, 16}) {
                INFO(bits << " bits, " << rows << " rows of " << size);
                const at::Tensor x = at::randn({rows, 512}) * size;
                const at::Tensor truth = at::linear(x.to(at::kDouble), dense);
                CHECK(relative(linear->forward({x}, {{}, &form}, {}), truth) < 5e-7);
            }
        }
        at::Tensor x = at::randn({5, 512});
        x[0][3] = 1e4;  // beside which the others of its group keep 23 bits of it
        CHECK(relative(linear->forward({x}, {{}, &form}, bias),
                       at::linear(x.to(at::kDouble), dense, bias.to(at::kDouble))) < 1e-6);
        x[1][7] = std::numeric_limits<float>::quiet_NaN();
        x[3][0] = std::numeric_limits<float>::infinity();
        const at::Tensor y = linear->forward({x}, {{}, &form}, bias);
        CHECK(y[1].isnan().all().item<bool>());
        CHECK_FALSE(y[3].isfinite().any().item<bool>());
        const at::Tensor whole = at::linear(x.to(at::kDouble), dense, bias.to(at::kDouble));
        for (const std::int64_t row : {0, 2, 4}) CHECK(relative(y[row], whole[row]) < 1e-6);
    }
}

TEST_CASE("a stored weight with the scale of its input cuts off what does not fit, and nothing else") {
    auto asked = request();
    asked.weight_format = WeightFormat::quantized;
    asked.weight_bits = 8;
    asked.input_quantization = InputQuantization::fixed;
    auto stored = reference::quantized(at::randn({200, 512}), {8, 0});
    stored.input_scale = at::scalar_tensor(2.0 / 127.0, at::kFloat);
    const auto linear = test::make<Linear>("int8", "static", asked);
    const auto form = linear->prepare_quantized(stored);
    const at::Tensor x = at::randn({9, 512});
    const at::Tensor meant = at::linear(reference::requantized_input(x, stored.input_scale).to(at::kDouble),
                                        reference::dequantized(stored).to(at::kDouble));
    CHECK(relative(linear->forward({x}, {{}, &form}, {}), meant) < 1e-6);
    CHECK(relative(at::linear(x.clamp(-2.0, 2.0), reference::dequantized(stored)), meant) < 0.02);
}

TEST_CASE("an input that is not finite makes its row not finite, with a scale of its own or a stored one") {
    auto stored_scale = request(), own_scale = request();
    stored_scale.weight_format = WeightFormat::quantized;
    stored_scale.weight_bits = 8;
    stored_scale.input_quantization = InputQuantization::fixed;
    const at::Tensor weight = at::randn({200, 512});
    auto stored = reference::quantized(weight, {8, 0});
    stored.input_scale = at::scalar_tensor(2.0 / 127.0, at::kFloat);
    const auto fixed = test::make<Linear>("int8", "static", stored_scale);
    const auto dynamic = test::make<Linear>("int8", "dynamic", own_scale);
    const auto fixed_form = fixed->prepare_quantized(stored), dynamic_form = dynamic->prepare(weight, false);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
        for (const std::int64_t column : {0, 100, 511}) {
            INFO(bad << " in column " << column);
            at::Tensor x = at::randn({9, 512});
            x[4][column] = bad;
            for (const auto& y : {fixed->forward({x}, {{}, &fixed_form}, {}),
                                  dynamic->forward({x}, {{}, &dynamic_form}, {})}) {
                const at::Tensor finite = y.isfinite();
                CHECK_FALSE(finite[4].any().item<bool>());
                CHECK(finite.sum().item<std::int64_t>() == 8 * 200);
            }
        }
    }
}

// Quantization-aware training: values are those of the quantized layer, and gradients those of the formulas
// that pass the rounding by.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/linear.h>
#include <switchyard/reference/quantized_weight.h>

#include "tests/plugins/builtin/builtin.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

LinearRequest training_request() {
    LinearRequest made;
    made.rows = {0, 64};
    made.in = 96;
    made.out = 40;
    made.bias = made.needs_grad = made.allow_reduced = true;
    return made;
}

}  // namespace

TEST_CASE("values and straight-through gradients of weights in 8 and 4 bits, with and without inputs in 8") {
    const at::NoGradGuard no_grad;
    const at::Tensor x = at::randn({7, 96}), weight = at::randn({40, 96}), bias = at::randn({40}),
                     grad = at::randn({7, 40});
    for (const std::int64_t bits : {8, 4}) {
        for (const bool inputs : {true, false}) {
            INFO(bits << " bits" << (inputs ? ", inputs too" : ""));
            Options options;
            options.set("bits", bits);
            options.set("group", std::int64_t{32});
            options.set("inputs", inputs);
            const auto asked = training_request();
            const auto linear = test::make<Linear>("int8", "fake_quantized", asked, "", options);
            const auto form = linear->prepare(weight, true);
            const LinearWeight given{{weight}, &form};
            const at::Tensor w = reference::dequantized(reference::quantized(weight, {bits, 32, bits == 4}));
            const at::Tensor q = inputs ? reference::requantized_input(x, {}) : x;
            CHECK(linear->forward({x}, given, bias).allclose(at::linear(q, w, bias)));
            CHECK(linear->input_gradient({grad}, given).allclose(at::mm(grad, w)));
            CHECK(linear->weight_gradient({grad}, {x}).allclose(at::mm(grad.t(), q)));
        }
    }
}

TEST_CASE("a model that was trained so computes the same with the weights in 8 bits") {
    const at::NoGradGuard no_grad;
    const at::Tensor x = at::randn({5, 96}), weight = at::randn({40, 96}), bias = at::randn({40});
    const auto trained = training_request();
    auto used = training_request();
    used.needs_grad = false;
    used.phase = Phase::eval;
    const auto fake = test::make<Linear>("int8", "fake_quantized", trained);
    const auto real = test::make<Linear>("int8", "dynamic", used);
    const auto fake_form = fake->prepare(weight, true), form = real->prepare(weight, false);
    CHECK(fake->forward({x}, {{weight}, &fake_form}, bias)
              .allclose(real->forward({x}, {{}, &form}, bias), 1e-4, 1e-4));
}

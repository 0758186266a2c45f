// The bridge in mode kernel. A case gives forward and backward of z = f(x, y) as functions
// (bridge_fixture.h) and looks at what autograd makes of them. To add one: write its Behaviour, run it,
// assert on gradients or on the error's text.
#include <atomic>
#include <thread>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "bridge_fixture.h"
#include "gradient_check.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::Behaviour;
using switchyard::test::BridgeFixture;
using torch::autograd::grad;

namespace {

const auto float64 = at::TensorOptions().dtype(at::kDouble);

at::Tensor leaf(std::vector<std::int64_t> sizes, std::uint64_t seed = 1) {
    at::Tensor values = at::zeros(sizes, float64);
    double* data = values.data_ptr<double>();
    for (std::int64_t i = 0; i < values.numel(); ++i)
        data[i] = 0.1 + 0.01 * static_cast<double>((i * 7 + seed * 13) % 41);
    return values.requires_grad_();
}

// z = x * y with everything saved as it should be.
Behaviour product() {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        outputs.push_back(inputs[0] * inputs[1]);
        if (saved == nullptr) return;
        saved->input(inputs[0]);
        saved->input(inputs[1]);
        saved->integers.push_back(42);
    };
    behaviour.backward = [](const Saved& saved, const runtime::Tensors& grads, runtime::Needs needs) {
        runtime::Tensors result(2);
        if (needs[0]) result[0] = grads[0] * saved[1];
        if (needs[1]) result[1] = grads[0] * saved[0];
        return result;
    };
    return behaviour;
}

// z = x * sin(y): output z and an extra are saved as well.
Behaviour product_of_sine() {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        at::Tensor sine = at::sin(inputs[1]);
        outputs.push_back(inputs[0] * sine);
        outputs.push_back(at::scalar_tensor(inputs[0].numel(), at::TensorOptions().dtype(at::kLong)));
        if (saved == nullptr) return;
        saved->input(inputs[1]);
        saved->output(outputs[0]);
        saved->extra(sine);
        saved->extra(at::Tensor());
    };
    behaviour.backward = [](const Saved& saved, const runtime::Tensors& grads, runtime::Needs) {
        REQUIRE(saved.tensors.size() == 4);
        CHECK(saved.tensors[0].role == SavedRole::input);
        CHECK(saved.tensors[1].role == SavedRole::output);
        CHECK(saved.tensors[2].role == SavedRole::extra);
        CHECK_FALSE(saved[3].defined());
        const at::Tensor x = saved[1] / saved[2];
        return runtime::Tensors{grads[0] * saved[2], grads[0] * x * saved[0].cos()};
    };
    return behaviour;
}

}  // namespace

TEST_CASE("kernel: gradients are those of the component's backward") {
    const BridgeFixture op(GradientMode::kernel, product_of_sine());
    const auto function = [&](const std::vector<at::Tensor>& inputs) { return op.z(inputs[0], inputs[1]); };
    CHECK(test::gradient_error(function, {leaf({3, 4}), leaf({3, 4}, 2)}) < 1e-7);
}

TEST_CASE("kernel: nothing is saved when no gradient can be asked for") {
    Behaviour behaviour = product();
    bool saves = true;
    behaviour.forward = [&saves](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        saves = saved != nullptr;
        outputs.push_back(inputs[0] * inputs[1]);
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({2});
    CHECK_FALSE(op.z(x.detach(), x.detach()).requires_grad());
    CHECK_FALSE(saves);
    {
        const c10::AutoGradMode no_grad(false);
        CHECK_FALSE(op.z(x, x).requires_grad());
        CHECK_FALSE(saves);
    }
    CHECK(op.z(x, x.detach()).requires_grad());
    CHECK(saves);
}

TEST_CASE("kernel: only what is needed is asked for, and the rest may stay undefined") {
    Behaviour behaviour = product();
    bool needs_x = false, needs_y = false;
    const auto inner = behaviour.backward;
    behaviour.backward = [&, inner](const Saved& saved, const runtime::Tensors& grads, runtime::Needs needs) {
        needs_x = needs[0];
        needs_y = needs[1];
        CHECK_FALSE(c10::GradMode::is_enabled());
        CHECK(saved.integers == std::vector<std::int64_t>{42});
        return inner(saved, grads, needs);
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({3}), y = leaf({3}, 5);
    CHECK(at::equal(grad({op.z(x, y.detach()).sum()}, {x})[0], y.detach()));
    CHECK(needs_x);
    CHECK_FALSE(needs_y);
    // Both require a gradient, but only y's is asked of the engine.
    CHECK(at::equal(grad({op.z(x, y).sum()}, {y})[0], x.detach()));
    CHECK_FALSE(needs_x);
    CHECK(needs_y);
}

TEST_CASE("kernel: an undefined input is passed on and has no gradient") {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        CHECK_FALSE(inputs[1].defined());
        outputs.push_back(inputs[0] * 2);
        if (saved != nullptr) saved->input(inputs[1]);
    };
    behaviour.backward = [](const Saved& saved, const runtime::Tensors& grads, runtime::Needs needs) {
        CHECK_FALSE(saved[0].defined());
        CHECK_FALSE(needs[1]);
        return runtime::Tensors{grads[0] * 2, at::Tensor()};
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({3});
    CHECK(at::equal(grad({op.z(x, {}).sum()}, {x})[0], at::ones_like(x) * 2));
}

TEST_CASE("kernel: an output without gradient is a plain tensor") {
    const BridgeFixture op(GradientMode::kernel, product_of_sine());
    const auto outputs = op(leaf({3}), leaf({3}));
    CHECK(outputs[0].requires_grad());
    CHECK_FALSE(outputs[1].requires_grad());
    CHECK(outputs[1].item<std::int64_t>() == 3);
}

TEST_CASE("kernel: changing a saved tensor in place before backward is an error") {
    const BridgeFixture op(GradientMode::kernel, product_of_sine());
    const at::Tensor x = leaf({3});
    SECTION("an input") {
        const at::Tensor y = leaf({3}) * 1;
        const at::Tensor z = op.z(x, y);
        {
            const c10::AutoGradMode no_grad(false);
            y.add_(1);
        }
        CHECK_THROWS_WITH(grad({z.sum()}, {x}), test::contains("modified by an inplace operation"));
    }
    SECTION("an output") {
        const at::Tensor z = op.z(x, leaf({3}));
        const at::Tensor sum = z.sum();
        {
            const c10::AutoGradMode no_grad(false);
            z.add_(1);
        }
        CHECK_THROWS_WITH(grad({sum}, {x}), test::contains("modified by an inplace operation"));
    }
    SECTION("a tensor of the parameters") {
        Behaviour behaviour = product();
        behaviour.parameter = at::zeros({2});
        const BridgeFixture with_parameter(GradientMode::kernel, behaviour);
        const at::Tensor z = with_parameter.z(x, x);
        behaviour.parameter.add_(1);
        CHECK_THROWS_WITH(grad({z.sum()}, {x}),
                          test::contains("changed in place between forward and backward"));
    }
}

TEST_CASE("kernel: an in-place change of an output that was not saved is followed by autograd") {
    const BridgeFixture op(GradientMode::kernel, product());
    const at::Tensor x = leaf({3}), y = leaf({3}, 4);
    const at::Tensor z = op.z(x, y);
    z.mul_(3);
    CHECK(at::allclose(grad({z.sum()}, {x})[0], y.detach() * 3));
}

TEST_CASE("kernel: a second derivative is an error that names the plugin") {
    const BridgeFixture op(GradientMode::kernel, product());
    const at::Tensor x = leaf({3}), y = leaf({3}, 2);
    // The incoming gradient is a constant: only the saved inputs could be differentiated again.
    const auto first = grad({op.z(x, y)}, {x, y}, {at::ones_like(x)}, true, /*create_graph=*/true);
    CHECK(at::equal(first[0].detach(), y.detach()));
    REQUIRE(first[0].requires_grad());
    CHECK_THROWS_WITH(
        grad({first[0].sum()}, {y}, {}, false, false, true),
        test::contains("plugin 'acme', component 'bridge_test'") && test::contains("second derivative"));
}

TEST_CASE("forward and backward of a component run without grad mode, under create_graph too") {
    Behaviour behaviour = product();
    const auto forward = behaviour.forward;
    const auto backward = behaviour.backward;
    int calls = 0;
    behaviour.forward = [&, forward](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        ++calls;
        CHECK_FALSE(c10::GradMode::is_enabled());
        forward(inputs, outputs, saved);
    };
    behaviour.backward = [&, backward](const Saved& saved, const runtime::Tensors& grads,
                                       runtime::Needs needs) {
        ++calls;
        CHECK_FALSE(c10::GradMode::is_enabled());
        return backward(saved, grads, needs);
    };
    const at::Tensor x = leaf({3});
    const BridgeFixture kernel(GradientMode::kernel, behaviour);
    grad({kernel.z(x, x).sum()}, {x}, {}, true, /*create_graph=*/true);
    CHECK(calls == 2);
    const auto saves_nothing = [&](const auto& inputs, runtime::Tensors& outputs, Saved*) {
        CHECK_FALSE(c10::GradMode::is_enabled());
        outputs.push_back(inputs[0] * inputs[1]);
    };
    behaviour.forward = saves_nothing;
    const BridgeFixture recompute(GradientMode::recompute, behaviour);
    CHECK(recompute.z(x, x).requires_grad());
    CHECK(c10::GradMode::is_enabled());
}

TEST_CASE("kernel: a graph runs again only if it was retained") {
    const BridgeFixture op(GradientMode::kernel, product_of_sine());
    const at::Tensor x = leaf({3}), y = leaf({3}, 3);
    const at::Tensor sum = op.z(x, y).sum();
    const auto first = grad({sum}, {x, y}, {}, /*retain_graph=*/true);
    const auto second = grad({sum}, {x, y}, {}, /*retain_graph=*/true);
    const auto third = grad({sum}, {x, y});
    CHECK(at::equal(first[0], second[0]));
    CHECK(at::equal(first[1], third[1]));
    CHECK_THROWS_WITH(grad({sum}, {x, y}), test::contains("second time"));
}

TEST_CASE("kernel: without saved tensors a released graph is an error too") {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
        outputs.push_back(inputs[0] + inputs[1]);
    };
    behaviour.backward = [](const Saved&, const runtime::Tensors& grads, runtime::Needs) {
        return runtime::Tensors{grads[0], grads[0]};
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({3});
    const at::Tensor z = op.z(x, x);
    CHECK(at::equal(grad({z}, {x}, {at::ones_like(z)})[0], at::ones_like(z) * 2));
    CHECK_THROWS_WITH(grad({z}, {x}, {at::ones_like(z)}), test::contains("second time"));
}

TEST_CASE("kernel: saved tensors are released with backward, or with the outputs") {
    Behaviour behaviour = product();
    at::Tensor extra = at::zeros({1000}, float64);
    const auto inner = behaviour.forward;
    behaviour.forward = [&extra, inner](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        inner(inputs, outputs, saved);
        if (saved == nullptr) return;
        saved->extra(extra);
        saved->output(outputs[0]);
        saved->extra(outputs[0].view({-1}));  // knows the output, which knows the node
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({10, 10});
    at::Tensor z = op.z(x, x);
    CHECK(extra.use_count() == 2);
    c10::weak_intrusive_ptr<c10::StorageImpl> storage(
        c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(z.storage().unsafeGetStorageImpl()));
    SECTION("by backward, while the output lives") {
        grad({z.sum()}, {x});
        CHECK(extra.use_count() == 1);
        CHECK_FALSE(storage.expired());
    }
    SECTION("by dropping the output without backward") {}
    z.reset();
    CHECK(extra.use_count() == 1);
    CHECK(storage.expired());
}

TEST_CASE("kernel: a saved input or output is not kept a second time") {
    const BridgeFixture op(GradientMode::kernel, product_of_sine());
    const at::Tensor x = leaf({10}), y = leaf({10});
    const at::Tensor z = op.z(x, y);
    CHECK(y.storage().use_count() == 1);  // the variable itself was saved
    CHECK(z.storage().use_count() == 2);  // the output's, and autograd's record of it without history
}

TEST_CASE("kernel: an output may be an input, or a view of one") {
    Behaviour behaviour = product();
    behaviour.backward = [](const Saved&, const runtime::Tensors& grads, runtime::Needs) {
        return runtime::Tensors{grads[0].view({2, 3}) * 5, at::zeros({2, 3}, float64)};
    };
    const at::Tensor x = leaf({2, 3}), y = leaf({2, 3}, 2);
    SECTION("the input itself") {
        behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
            outputs.push_back(inputs[0]);
        };
    }
    SECTION("a view") {
        behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved*) {
            outputs.push_back(inputs[0].view({6}));
        };
    }
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor z = op.z(x, y);
    CHECK(x.is_leaf());
    CHECK(z.data_ptr() == x.data_ptr());
    CHECK(at::equal(grad({z.sum()}, {x})[0], at::ones_like(x) * 5));
}

TEST_CASE("kernel: gradients that do not fit are errors that name plugin and tensor") {
    Behaviour behaviour = product();
    std::string expected;
    SECTION("missing") {
        behaviour.backward = [](const Saved&, const runtime::Tensors& g, runtime::Needs) {
            return runtime::Tensors{g[0], at::Tensor()};
        };
        expected =
            "plugin 'acme', component 'bridge_test', test.backward: the gradient for y is missing, although "
            "it is needed";
    }
    SECTION("of another shape") {
        behaviour.backward = [](const Saved&, const runtime::Tensors& g, runtime::Needs) {
            return runtime::Tensors{g[0].view({3, 2}), g[0]};
        };
        expected =
            "plugin 'acme', component 'bridge_test', test.backward: the gradient for x has shape [3, 2], "
            "expected [2, 3]";
    }
    SECTION("of another dtype") {
        behaviour.backward = [](const Saved&, const runtime::Tensors& g, runtime::Needs) {
            return runtime::Tensors{g[0], g[0].to(at::kFloat)};
        };
        expected =
            "plugin 'acme', component 'bridge_test', test.backward: the gradient for y is float, expected "
            "double";
    }
    SECTION("too few") {
        behaviour.backward = [](const Saved&, const runtime::Tensors& g, runtime::Needs) {
            return runtime::Tensors{g[0]};
        };
        expected = "plugin 'acme', component 'bridge_test', test.backward: returned 1 gradients, expected 2";
    }
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({2, 3}), y = leaf({2, 3});
    CHECK_THROWS_WITH(grad({op.z(x, y).sum()}, {x, y}), Catch::Matchers::Equals(expected));
}

TEST_CASE("kernel: saving a stranger as an input or output is an error") {
    Behaviour behaviour = product();
    std::string expected =
        "plugin 'acme', component 'bridge_test', test.forward: saved tensor 0 is marked as an ";
    SECTION("input") {
        behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
            outputs.push_back(inputs[0] * 2);
            if (saved != nullptr) saved->input(inputs[0] * 1);
        };
        expected += "input, but is none of the inputs: save it as an extra";
    }
    SECTION("output") {
        behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
            outputs.push_back(inputs[0] * 2);
            if (saved != nullptr) saved->output(inputs[0] * 1);
        };
        expected += "output, but is none of the outputs: save it as an extra";
    }
    const BridgeFixture op(GradientMode::kernel, behaviour);
    CHECK_THROWS_WITH(op.z(leaf({2}), leaf({2})), Catch::Matchers::Equals(expected));
}

TEST_CASE("kernel: whatever backward throws comes out as the plugin's error") {
    Behaviour behaviour = product();
    std::string expected = "plugin 'acme', component 'bridge_test', test.backward: ";
    SECTION("an int") {
        behaviour.backward = [](const Saved&, const runtime::Tensors&, runtime::Needs) -> runtime::Tensors {
            throw 17;
        };
        expected += "threw the int 17";
    }
    SECTION("a type of its own") {
        struct Odd {};
        behaviour.backward = [](const Saved&, const runtime::Tensors&, runtime::Needs) -> runtime::Tensors {
            throw Odd();
        };
        expected += "threw a value of type '";
    }
    SECTION("an exception") {
        behaviour.backward = [](const Saved& saved, const runtime::Tensors&,
                                runtime::Needs) -> runtime::Tensors {
            saved[99];
            return {};
        };
        expected += "vector::_M_range_check";
    }
    const BridgeFixture op(GradientMode::kernel, behaviour);
    const at::Tensor x = leaf({2});
    CHECK_THROWS_AS(grad({op.z(x, x).sum()}, {x}), runtime::PluginError);
    CHECK_THROWS_WITH(grad({op.z(x, x).sum()}, {x}), Catch::Matchers::StartsWith(expected));
    // The engine is still usable.
    const BridgeFixture sound(GradientMode::kernel, product());
    CHECK(at::equal(grad({sound.z(x, x).sum()}, {x})[0], x.detach() * 2));
}

TEST_CASE("kernel: backward on several threads at once never runs a component twice at a time") {
    Behaviour behaviour = product();
    std::atomic<int> inside{0}, overlaps{0};
    const auto inner = behaviour.backward;
    behaviour.backward = [&, inner](const Saved& saved, const runtime::Tensors& grads, runtime::Needs needs) {
        if (inside.fetch_add(1) != 0) ++overlaps;
        runtime::Tensors result = inner(saved, grads, needs);
        inside.fetch_sub(1);
        return result;
    };
    const BridgeFixture op(GradientMode::kernel, behaviour);
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const at::Tensor x = leaf({64}, static_cast<std::uint64_t>(t)),
                                 y = leaf({64}, static_cast<std::uint64_t>(i));
                const auto grads = grad({op.z(x, y).sum()}, {x, y});
                if (!at::equal(grads[0], y.detach()) || !at::equal(grads[1], x.detach())) ++wrong;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(overlaps == 0);
}

TEST_CASE("kernel: the component outlives its binding as long as a graph needs it") {
    const at::Tensor x = leaf({3});
    at::Tensor z;
    {
        const BridgeFixture op(GradientMode::kernel, product());
        z = op.z(x, x);
    }
    CHECK(at::equal(grad({z.sum()}, {x})[0], x.detach() * 2));
}

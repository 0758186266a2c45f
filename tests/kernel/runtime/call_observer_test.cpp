// What an observer of calls is told. A case gives a component's functions (bridge_fixture.h), runs it while
// observed, and looks at what was seen: to add one, write its Behaviour and its expected list of calls.
#include <stdexcept>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/kernel/runtime/call_observer.h"
#include "core/kernel/runtime/call_timer.h"
#include "core/kernel/runtime/recompute.h"

#include "bridge_fixture.h"

#include <switchyard_test.h>

using namespace switchyard;
using switchyard::test::Behaviour;
using switchyard::test::BridgeFixture;
using torch::autograd::grad;

namespace {

at::Tensor leaf(double value) {
    return at::full({3}, value, at::TensorOptions().dtype(at::kDouble)).requires_grad_();
}

// z = x * y.
Behaviour observed_product() {
    Behaviour behaviour;
    behaviour.forward = [](const auto& inputs, runtime::Tensors& outputs, Saved* saved) {
        outputs.push_back(inputs[0] * inputs[1]);
        if (saved == nullptr) return;
        saved->input(inputs[0]);
        saved->input(inputs[1]);
    };
    behaviour.backward = [](const Saved& saved, const runtime::Tensors& grads, runtime::Needs) {
        return runtime::Tensors{grads[0] * saved[1], grads[0] * saved[0]};
    };
    behaviour.reference = [](const runtime::Tensors& inputs) {
        return runtime::Tensors{inputs[0] * inputs[1]};
    };
    return behaviour;
}

// Writes what it sees as lines: "encoder.0 test.forward x=2 y=3 -> z=6".
class Lines final : public runtime::CallObserver {
public:
    void observe(const runtime::ObservedCall& call) override {
        CHECK_FALSE(c10::GradMode::is_enabled());
        CHECK(call.binding.slot() == "activation");
        std::string line = std::string(call.place) + " " + call.call + (call.again ? " again" : "");
        for (const auto& input : call.inputs) line += text(input);
        line += " ->";
        for (const auto& output : call.outputs) line += text(output);
        lines.push_back(line);
    }
    std::vector<std::string> lines;

private:
    static std::string text(const runtime::ObservedTensor& tensor) {
        const auto value = tensor.value.sum().item<double>() / 3;
        return std::string(" ") + tensor.name + "=" + std::to_string(static_cast<int>(value));
    }
};

}  // namespace

TEST_CASE("an observer sees forward and backward of every gradient mode, with the layer they belong to") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    INFO("mode " << static_cast<int>(mode));
    const BridgeFixture op(mode, observed_product());
    const auto x = leaf(2), y = leaf(3);
    Lines seen;
    std::vector<at::Tensor> gradients;
    {
        const runtime::ObserveCalls observing(seen);
        at::Tensor z;
        {
            const runtime::PlaceScope outer([] { return "encoder.0"; });
            const runtime::PlaceScope inner([] { return "encoder.0.q"; });
            z = op.z(x, y);
        }
        CHECK(runtime::current_place().empty());
        gradients = grad({(z * 5).sum()}, {x, y});
    }
    CHECK(seen.lines == std::vector<std::string>{"encoder.0.q test.forward x=2 y=3 -> z=6",
                                                 "encoder.0.q test.backward z=5 -> x=15 y=10"});
    CHECK(at::equal(gradients[0], y.detach() * 5));
    CHECK(at::equal(gradients[1], x.detach() * 5));
}

TEST_CASE("only gradients that are needed are seen, and calls without any have no backward") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable);
    const BridgeFixture op(mode, observed_product());
    const auto x = leaf(2), y = leaf(3);
    Lines seen;
    const runtime::ObserveCalls observing(seen);
    op.z(x.detach(), y.detach());
    grad({op.z(x, y.detach()).sum()}, {x});
    CHECK(seen.lines == std::vector<std::string>{" test.forward x=2 y=3 -> z=6",
                                                 " test.forward x=2 y=3 -> z=6",
                                                 " test.backward z=1 -> x=3"});
}

TEST_CASE("a forward that recomputation runs again says so") {
    const BridgeFixture op(GradientMode::kernel, observed_product());
    const auto x = leaf(2), y = leaf(3);
    runtime::Segment segment;
    segment.run = [&](const std::vector<at::Tensor>& inputs) {
        const runtime::PlaceScope place([] { return "layer"; });
        return std::vector<at::Tensor>{op.z(inputs[0], y)};
    };
    Lines seen;
    const runtime::ObserveCalls observing(seen);
    runtime::run_recomputed(segment, {x}, {y})[0].sum().backward();
    CHECK(seen.lines == std::vector<std::string>{"layer test.forward x=2 y=3 -> z=6",
                                                 "layer test.forward again x=2 y=3 -> z=6",
                                                 "layer test.backward z=1 -> x=3 y=2"});
}

TEST_CASE("nothing is seen, and no place is kept, once the observer is gone") {
    const BridgeFixture op(GradientMode::kernel, observed_product());
    const auto x = leaf(2), y = leaf(3);
    Lines seen;
    at::Tensor z;
    {
        const runtime::ObserveCalls observing(seen);
        z = op.z(x, y);
    }
    const runtime::PlaceScope place([]() -> std::string { throw std::logic_error("nobody looks"); });
    z.sum().backward();
    op.z(x, y).sum().backward();
    CHECK(seen.lines.size() == 1);
}

TEST_CASE("there is one observer at a time") {
    Lines first, second;
    const runtime::ObserveCalls observing(first);
    CHECK_THROWS_WITH(runtime::ObserveCalls(second),
                      Catch::Matchers::Equals("calls are being observed already: one observer at a time"));
}

TEST_CASE("what an observer throws ends the call that it was told about") {
    class Stops final : public runtime::CallObserver {
        void observe(const runtime::ObservedCall& call) override {
            if (call.pass == runtime::Pass::backward) throw std::runtime_error("seen enough");
        }
    };
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::differentiable, GradientMode::recompute);
    const BridgeFixture op(mode, observed_product());
    Stops stops;
    const runtime::ObserveCalls observing(stops);
    const auto z = op.z(leaf(2), leaf(3));
    CHECK_THROWS_WITH(z.sum().backward(), Catch::Matchers::Equals("seen enough"));
}

namespace {

// Writes the brackets that it is told as text: "[encoder.0 [test.forward ] called 2 ]".
class Brackets final : public runtime::CallTimer {
public:
    void begin_part(const char* part) override { text += std::string("[") + part + " "; }
    void begin_place(const std::string& place) override { text += "[" + place + " "; }
    void begin_call(const runtime::BindingBase& binding, const char* call) override {
        CHECK(binding.slot() == "activation");
        text += std::string("[") + call + " ";
    }
    void end() noexcept override { text += "] "; }
    void called(const runtime::BindingBase&, const runtime::Signature&, const runtime::KernelCall& call,
                std::span<const at::Tensor* const> inputs, const runtime::Tensors& outputs) override {
        CHECK(call.attention() == nullptr);
        text += "called " + std::to_string(inputs.size()) + " " + std::to_string(outputs.size()) + " ";
    }
    std::string text;
};

}  // namespace

TEST_CASE("a timer is told where parts, places and calls begin and end, backward in its place too") {
    const auto mode = GENERATE(GradientMode::kernel, GradientMode::recompute);
    INFO("mode " << static_cast<int>(mode));
    const BridgeFixture op(mode, observed_product());
    const auto x = leaf(2), y = leaf(3);
    Brackets seen;
    {
        const runtime::TimeCalls timing(seen);
        CHECK_THROWS_AS(runtime::TimeCalls(seen), std::logic_error);
        at::Tensor z;
        {
            const runtime::TimedScope part("forward");
            const runtime::PlaceScope place([] { return "encoder.0"; });
            z = op.z(x, y);
        }
        CHECK(seen.text == "[forward [encoder.0 [test.forward ] called 2 2 ] ] ");
        seen.text.clear();
        grad({(z * 5).sum()}, {x, y});
        CHECK(seen.text == "[encoder.0 [test.backward ] ] ");
    }
    seen.text.clear();
    (void)op.z(x, y);
    CHECK(seen.text.empty());
    CHECK(runtime::call_timer() == nullptr);
}

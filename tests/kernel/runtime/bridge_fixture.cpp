#include "bridge_fixture.h"

#include <algorithm>
#include <array>

#include <switchyard/interfaces/activation.h>
#include "core/kernel/runtime/gradient_watch.h"

namespace switchyard::test {
namespace {

class Unused final : public Activation {
public:
    using Activation::Activation;
    at::Tensor forward(const ActivationInputs&, const ActivationParams&, Saved*) override { return {}; }
};

constexpr std::array<const char*, 2> input_names{"x", "y"};
constexpr std::array<const char*, 2> output_names{"z", "count"};
constexpr runtime::Signature signature{"test.forward", "test.backward", input_names, output_names, 0b01};

class FunctionCall final : public runtime::KernelCall {
public:
    FunctionCall(std::shared_ptr<const Behaviour> behaviour, std::shared_ptr<runtime::BindingBase> binding,
                 const std::vector<at::Tensor>* inputs)
        : behaviour_(std::move(behaviour)), binding_(std::move(binding)), inputs_(inputs) {}

    void forward(runtime::Tensors& outputs, Saved* saved) override {
        behaviour_->forward(*inputs_, outputs, saved);
        if (outputs.size() == 1) outputs.emplace_back();
    }
    runtime::Tensors backward(const Saved& saved, const runtime::Tensors& grads,
                              runtime::Needs needs) override {
        return behaviour_->backward(saved, grads, needs);
    }
    runtime::Tensors reference(const runtime::Tensors& inputs) override {
        runtime::Tensors outputs = behaviour_->reference(inputs);
        outputs.resize(2);
        return outputs;
    }
    std::shared_ptr<runtime::KernelCall> keep() const override {
        return std::make_shared<FunctionCall>(behaviour_, binding_, nullptr);
    }
    std::uint64_t versions() const override {
        return behaviour_->parameter.defined() ? behaviour_->parameter._version() : 0;
    }

private:
    std::shared_ptr<const Behaviour> behaviour_;
    std::shared_ptr<runtime::BindingBase> binding_;
    const std::vector<at::Tensor>* inputs_;
};

}  // namespace

BridgeFixture::BridgeFixture(GradientMode mode, Behaviour behaviour)
    : behaviour_(std::make_shared<const Behaviour>(std::move(behaviour))) {
    const FakeComponent<Activation, Unused> fake(mode, "acme", "bridge_test");
    runtime::BindingInfo info;
    info.slot = "activation";
    auto request = std::make_shared<ActivationRequest>();
    request->needs_grad = true;
    info.request = std::move(request);
    // The component's table must live as long as the binding; this one has only static functions and a name.
    static SwitchyardComponent entry = [&] {
        SwitchyardComponent copy = fake.loaded().entry[0];
        copy.id = "bridge_test";
        return copy;
    }();
    runtime::LoadedComponent loaded = fake.loaded();
    loaded.entry = &entry;
    binding_ = std::make_shared<runtime::Binding<Activation>>(loaded, std::move(info));
}

std::vector<at::Tensor> BridgeFixture::operator()(const at::Tensor& x, const at::Tensor& y) const {
    std::vector<at::Tensor> inputs{x, y};
    const std::array<const at::Tensor*, 2> pointers{&inputs[0], &inputs[1]};
    const runtime::GradientWatch watch(binding_, signature, pointers);
    if (watch.on()) std::copy(watch.inputs().begin(), watch.inputs().end(), inputs.begin());
    FunctionCall call(behaviour_, binding_, &inputs);
    runtime::Tensors outputs;
    runtime::apply(*binding_, signature, call, pointers, outputs);
    watch.outputs(outputs);
    return {outputs.begin(), outputs.end()};
}

}  // namespace switchyard::test

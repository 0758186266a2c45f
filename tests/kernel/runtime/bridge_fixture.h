// A binding and a KernelCall whose parts are given as functions, so that a test states what it is about in a
// few lines.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>
#include "core/kernel/runtime/autograd_bridge.h"

#include "fake_component.h"

namespace switchyard::test {

struct Behaviour {
    std::function<void(const std::vector<at::Tensor>& inputs, runtime::Tensors& outputs, Saved* saved)>
        forward;
    std::function<runtime::Tensors(const Saved& saved, const runtime::Tensors& grads, runtime::Needs needs)>
        backward;
    std::function<runtime::Tensors(const runtime::Tensors& inputs)> reference;
    at::Tensor parameter;  // not an input; watched for in-place changes
};

// Two inputs (x, y), two outputs (z differentiable, count not).
class BridgeFixture {
public:
    explicit BridgeFixture(GradientMode mode, Behaviour behaviour);

    // Both outputs.
    std::vector<at::Tensor> operator()(const at::Tensor& x, const at::Tensor& y) const;
    at::Tensor z(const at::Tensor& x, const at::Tensor& y) const { return (*this)(x, y)[0]; }

private:
    std::shared_ptr<const Behaviour> behaviour_;
    std::shared_ptr<runtime::BindingBase> binding_;
};

}  // namespace switchyard::test

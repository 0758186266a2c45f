// How autograd reaches a component: the one place where the core makes autograd nodes for plugins.
//
// By the component's gradient mode, when an input requires a gradient and grad mode is on:
//   kernel          forward runs without grad and fills Saved; the node keeps Saved's tensors as autograd's
//                   saved variables (an in-place change before backward is an error, nothing is kept alive
//                   twice, all is released with the graph) and calls the component's backward. Under
//                   create_graph the gradients carry a node that throws: a second derivative is an error.
//   differentiable  forward runs as it is, autograd follows it.
//   recompute       forward runs without grad; backward runs the reference on the same inputs and
//                   differentiates that (twice, if asked).
//   none            an error.
// When no gradient is needed forward runs with `saved == nullptr`, and no node is made.
//
// All calls of the component run under the guard, on whichever thread autograd uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>

#include <switchyard/interfaces/attention.h>
#include <switchyard/interfaces/saved.h>
#include "core/kernel/runtime/binding.h"

namespace switchyard::runtime {

using Tensors = c10::SmallVector<at::Tensor, 6>;

// Which inputs need a gradient.
class Needs {
public:
    constexpr bool operator[](std::size_t input) const { return ((bits_ >> input) & 1U) != 0; }
    constexpr void set(std::size_t input) { bits_ |= 1U << input; }
    constexpr bool any() const { return bits_ != 0; }

private:
    std::uint32_t bits_ = 0;
};

// The same for all calls of an operation; static data.
struct Signature {
    const char* forward;  // name of the call: "attention.forward"
    const char* backward;
    std::span<const char* const> inputs;  // names of the tensors that may have a gradient, at most 32
    std::span<const char* const> outputs;
    std::uint32_t differentiable_outputs;  // bit i: outputs[i] has a gradient
};

// One call of one operation. Lives on the caller's stack; only when backward will need it is it copied,
// without its inputs.
class KernelCall {
public:
    virtual ~KernelCall() = default;

    // Appends as many tensors as the signature has outputs; undefined ones where there is nothing.
    virtual void forward(Tensors& outputs, Saved* saved) = 0;

    // One gradient for each input of the signature, in its order; those not needed are ignored. `grads` are
    // those of the outputs, at least one of them defined.
    virtual Tensors backward(const Saved& saved, const Tensors& grads, Needs needs) = 0;

    // GradientMode::recompute: the reference on these inputs.
    virtual Tensors reference(const Tensors& inputs) = 0;

    // A copy for backward that holds everything but the inputs, and keeps the component alive.
    virtual std::shared_ptr<KernelCall> keep() const = 0;

    // Changes when a tensor that the call holds (a mask's, not an input) is changed in place.
    virtual std::uint64_t versions() const { return 0; }

    // Of an attention: what its mask leaves out. nullptr: it is none.
    virtual const AttentionParams* attention() const { return nullptr; }
};

// `inputs` point to the tensors that the signature names, undefined ones included. Fills `outputs`. Throws
// PluginError.
void apply(const BindingBase& binding, const Signature& signature, KernelCall& call,
           std::span<const at::Tensor* const> inputs, Tensors& outputs);

}  // namespace switchyard::runtime

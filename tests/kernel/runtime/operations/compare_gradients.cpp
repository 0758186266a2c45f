#include "compare_gradients.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/scalar_tensor.h>
#include <torch/csrc/autograd/autograd.h>

namespace switchyard::test {
namespace {

double difference(const at::Tensor& one, const at::Tensor& other) {
    if (one.defined() != other.defined()) return std::numeric_limits<double>::quiet_NaN();
    if (!one.defined() || one.numel() == 0) return 0.0;
    if (one.sizes() != other.sizes() || one.scalar_type() != other.scalar_type()) {
        return std::numeric_limits<double>::quiet_NaN();
    }
    return (one.detach() - other.detach()).abs().max().item<double>();
}

at::Tensor weighted_sum(const std::vector<at::Tensor>& outputs) {
    at::Tensor sum = at::scalar_tensor(0.0, at::TensorOptions().dtype(at::kDouble));
    double phase = 0.3;
    for (const at::Tensor& output : outputs) {
        phase += 1.0;
        if (!output.defined() || !output.requires_grad()) continue;
        const at::Tensor weights =
            at::linspace(phase, phase + 30.0, output.numel(), at::TensorOptions().dtype(at::kDouble)).cos();
        sum = sum + (output.to(at::kDouble) * weights.view(output.sizes())).sum();
    }
    return sum;
}

std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& outputs,
                                  const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
        if (input.defined() && input.requires_grad()) leaves.push_back(input);
    }
    return torch::autograd::grad({weighted_sum(outputs)}, leaves, {}, false, false, /*allow_unused=*/true);
}

// std::max drops NaN.
double worse(double one, double other) { return std::isnan(one) || one > other ? one : other; }

}  // namespace

at::Tensor leaf(at::IntArrayRef sizes, int seed) {
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    const at::Tensor steps =
        at::linspace(0.0, static_cast<double>(count) * 1.7, count, at::TensorOptions().dtype(at::kDouble));
    return ((steps + seed).sin() + (steps * 0.37 + seed).cos() * 0.3).view(sizes).detach().requires_grad_();
}

Difference compare(const Function& one, const Function& other, const std::vector<at::Tensor>& inputs) {
    const std::vector<at::Tensor> first = one(inputs), second = other(inputs);
    Difference result;
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
        result.outputs = worse(result.outputs, difference(first.at(i), second.at(i)));
    }
    const std::vector<at::Tensor> first_grads = gradients(first, inputs),
                                  second_grads = gradients(second, inputs);
    for (std::size_t i = 0; i < first_grads.size(); ++i) {
        result.gradients = worse(result.gradients, difference(first_grads[i], second_grads[i]));
    }
    return result;
}

}  // namespace switchyard::test

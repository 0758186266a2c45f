#include "gradient_check.h"

#include <algorithm>
#include <cmath>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/linspace.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>

namespace switchyard::test {
namespace {

at::Tensor weighted_sum(const at::Tensor& output) {
    const at::Tensor weights =
        at::cos(at::linspace(0.5, 40.0, output.numel(), output.options().requires_grad(false)));
    return (output * weights.view(output.sizes())).sum();
}

}  // namespace

double gradient_error(const std::function<at::Tensor(const std::vector<at::Tensor>&)>& function,
                      const std::vector<at::Tensor>& inputs) {
    constexpr double step = 1e-6;
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) {
        if (input.defined() && input.requires_grad()) leaves.push_back(input);
    }
    const auto gradients = torch::autograd::grad({weighted_sum(function(inputs))}, leaves);
    const c10::AutoGradMode no_grad(false);
    double error = 0.0;
    for (std::size_t leaf = 0; leaf < leaves.size(); ++leaf) {
        double* const values = leaves[leaf].data_ptr<double>();
        const at::Tensor gradient = gradients[leaf].contiguous();
        for (std::int64_t i = 0; i < leaves[leaf].numel(); ++i) {
            const double value = values[i];
            values[i] = value + step;
            const double above = weighted_sum(function(inputs)).item<double>();
            values[i] = value - step;
            const double below = weighted_sum(function(inputs)).item<double>();
            values[i] = value;
            const double expected = (above - below) / (2 * step);
            error = std::max(error, std::abs(gradient.data_ptr<double>()[i] - expected));
        }
    }
    return error;
}

}  // namespace switchyard::test

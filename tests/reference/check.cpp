#include "check.h"

#include <cmath>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <switchyard/conformance/differentiate.h>

namespace switchyard::test {
namespace {

double weighted(const std::vector<at::Tensor>& outputs, const std::vector<at::Tensor>& weights) {
    double sum = 0.0;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].defined()) sum += (outputs[i].detach() * weights[i]).sum().item<double>();
    }
    return sum;
}

}  // namespace

double difference(const at::Tensor& a, const at::Tensor& b) {
    if (!a.defined() || !b.defined() || a.sizes() != b.sizes())
        return std::numeric_limits<double>::infinity();
    if (a.numel() == 0) return 0.0;
    const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
    const at::Tensor finite = y.isfinite();
    if (!x.eq(y).logical_or(finite).all().item<bool>()) return std::numeric_limits<double>::infinity();
    const double scale = std::max(1.0, y.masked_fill(finite.logical_not(), 0.0).abs().max().item<double>());
    const double largest = (x - y).masked_fill(finite.logical_not(), 0.0).abs().max().item<double>();
    return std::isnan(largest) ? std::numeric_limits<double>::infinity() : largest / scale;
}

at::Tensor normal(at::IntArrayRef sizes, std::int64_t seed) {
    return at::randn(sizes, at::detail::createCPUGenerator(static_cast<std::uint64_t>(seed)),
                     at::TensorOptions().dtype(at::kDouble));
}

double gradient_error(const Function& function, const std::vector<at::Tensor>& inputs) {
    std::vector<at::Tensor> leaves;
    for (const at::Tensor& input : inputs) leaves.push_back(conformance::leaf(input));
    const std::vector<at::Tensor> outputs = function(leaves);
    std::vector<at::Tensor> weights;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        weights.push_back(outputs[i].defined()
                              ? normal(outputs[i].sizes(), 1000 + static_cast<std::int64_t>(i))
                              : at::Tensor());
    }
    const std::vector<at::Tensor> gradients = conformance::differentiate(outputs, weights, leaves);

    constexpr double h = 1e-5;
    double worst = 0.0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        for (std::int64_t round = 0; inputs[i].defined() && round < 3; ++round) {
            const at::Tensor direction =
                normal(inputs[i].sizes(), 2000 + 10 * static_cast<std::int64_t>(i) + round);
            std::vector<at::Tensor> moved = inputs;
            moved[i] = inputs[i] + direction * h;
            const double above = weighted(function(moved), weights);
            moved[i] = inputs[i] - direction * h;
            const double below = weighted(function(moved), weights);
            const double numeric = (above - below) / (2.0 * h);
            const double analytic = (gradients[i] * direction).sum().item<double>();
            const double error = std::abs(numeric - analytic) / std::max(1.0, std::abs(numeric));
            worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
        }
    }
    return worst;
}

}  // namespace switchyard::test

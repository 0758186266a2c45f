#include "core/workbench/quantize/sensitivity.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>

#include <switchyard/reference/quantized_weight.h>

namespace switchyard::quantize {
namespace {

double norm_of(const at::Tensor& x) { return at::linalg_vector_norm(x).item<double>(); }

double relative_error(const at::Tensor& got, const at::Tensor& expected) {
    const double size = norm_of(expected);
    return size == 0.0 ? norm_of(got) : norm_of(got.sub(expected)) / size;
}

}  // namespace

std::map<std::string, double> sensitivities(const model::Parameters& parameters,
                                            const std::vector<std::string>& layers,
                                            const config::QuantizationConfig& how, const InputScales& scales,
                                            const std::map<std::string, at::Tensor>& rows) {
    const at::NoGradGuard no_grad;
    std::map<std::string, double> errors;
    for (const auto& layer : layers) {
        const auto weight = parameters.find(layer + ".weight")->value.detach().to(at::kFloat);
        const auto stored = quantized_weight(layer, weight, how, scales);
        const auto meant = reference::dequantized(stored);
        const auto found = rows.find(layer);
        if (found == rows.end() || !found->second.defined()) {
            errors[layer] = relative_error(meant, weight);
            continue;
        }
        const auto& x = found->second;
        const bool rounded = how.inputs() != InputQuantization::none;
        const auto given = rounded ? reference::requantized_input(x, stored.input_scale) : x;
        errors[layer] = relative_error(at::matmul(given, meant.t()), at::matmul(x, weight.t()));
    }
    return errors;
}

}  // namespace switchyard::quantize

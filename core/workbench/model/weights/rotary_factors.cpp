#include "core/workbench/model/weights/rotary_factors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/workbench/gguf/blocks.h"

namespace switchyard::model {
namespace {

using base::InputError;

std::vector<float> values_of(const std::string& file, const gguf::Tensor& tensor, std::int64_t count) {
    const bool fits = tensor.shape == std::vector<std::int64_t>{count} && tensor.type->name == "F32";
    if (!fits)
        throw InputError(file + ": tensor '" + tensor.name + "': expected " + std::to_string(count) +
                         " numbers of F32, half the width of a head, got " +
                         std::to_string(tensor.elements()) + " of " + std::string(tensor.type->name));
    std::vector<float> values(static_cast<std::size_t>(count));
    gguf::dequantize(*tensor.type, tensor.data, values);
    return values;
}

double factor_of(const config::ModelConfig& m, std::size_t i) {
    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(m.head_dim);
    const double turns =
        std::pow(m.rotary_theta, -exponent) * static_cast<double>(m.rotary_original_positions) / (2.0 * M_PI);
    const double kept = std::clamp(
        (turns - m.rotary_low_freq_factor) / (m.rotary_high_freq_factor - m.rotary_low_freq_factor), 0.0,
        1.0);
    return 1.0 / ((1.0 - kept) / m.rotary_factor + kept);
}

bool gives(const config::ModelConfig& model, const std::vector<float>& factors) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
        const double expected = factor_of(model, i);
        if (!(std::abs(factors[i] - expected) <= 1e-4 * expected)) return false;
    }
    return true;
}

}  // namespace

void set_llama3_scaling(const std::string& file, const gguf::Tensor& tensor, config::ModelConfig& model) {
    const auto factors = values_of(file, tensor, model.head_dim / 2);
    model.rotary_scaling = config::RotaryScaling::llama3;
    const float largest = factors.empty() ? 1.0F : *std::max_element(factors.begin(), factors.end());
    model.rotary_factor = std::max(1.0, static_cast<double>(largest));
    // The lengths that models were trained on are powers of two; the other numbers are 1 and 4 in every
    // published one.
    for (std::int64_t original = 64; original <= std::int64_t{1} << 22; original *= 2) {
        model.rotary_original_positions = original;
        if (gives(model, factors)) return;
    }
    throw InputError(
        file + ": tensor '" + tensor.name +
        "': expected the factors of Llama 3's scaling of rotary positions; others are not computed "
        "here");
}

}  // namespace switchyard::model

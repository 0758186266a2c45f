#include "loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <ATen/ops/scalar_tensor.h>

namespace switchyard {
namespace {

constexpr const char* scale_key = "loss_scale";
constexpr const char* steps_key = "steps_without_overflow";

const at::Tensor& entry_of(const PrecisionState& state, const char* key) {
    for (const auto& entry : state.entries) {
        if (entry.key == key && entry.value.defined() && entry.value.numel() == 1) return entry.value;
    }
    throw std::invalid_argument(std::string("precision state: there is no number '") + key +
                                "', which a loss scaler saves");
}

}  // namespace

LossScaler::LossScaler(const Settings& settings)
    : settings_(settings), scale_(static_cast<float>(settings.init_scale)) {}

void LossScaler::update(bool found_inf) {
    // In float32, as GradScaler keeps it: the same numbers after the same steps.
    if (found_inf) {
        scale_ = std::max(scale_ * static_cast<float>(settings_.backoff_factor),
                          std::numeric_limits<float>::min());
        steps_without_overflow_ = 0;
        return;
    }
    if (++steps_without_overflow_ < settings_.growth_interval) return;
    const float grown = scale_ * static_cast<float>(settings_.growth_factor);
    if (std::isfinite(grown)) scale_ = grown;
    steps_without_overflow_ = 0;
}

PrecisionState LossScaler::state() const {
    return {{{scale_key, at::scalar_tensor(scale_, at::kFloat)},
             {steps_key, at::scalar_tensor(steps_without_overflow_, at::kLong)}}};
}

void LossScaler::load(const PrecisionState& state) {
    const auto scale = entry_of(state, scale_key).item<float>();
    const auto steps = entry_of(state, steps_key).item<std::int64_t>();
    if (!(std::isfinite(scale) && scale > 0.0F) || steps < 0)
        throw std::invalid_argument("precision state: a loss scale of " + std::to_string(scale) + " after " +
                                    std::to_string(steps) + " steps is of no use");
    scale_ = scale;
    steps_without_overflow_ = steps;
}

}  // namespace switchyard

#include "patient_scale.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <ATen/ops/scalar_tensor.h>

using namespace switchyard;

namespace {

constexpr const char* scale_key = "loss_scale";
constexpr const char* steps_key = "steps_without_overflow";
constexpr const char* patience_key = "patience_left";

const at::Tensor& number_of(const PrecisionState& state, const char* key) {
    for (const PrecisionState::Entry& entry : state.entries) {
        if (entry.key == key && entry.value.defined() && entry.value.numel() == 1) return entry.value;
    }
    throw std::invalid_argument(std::string("patient_fp16: the state has no number '") + key + "'");
}

}  // namespace

PatientScale::PatientScale(const Options& options)
    : growth_interval_(options.integer("growth_interval")),
      patience_(options.integer("patience")),
      min_scale_(static_cast<float>(options.number("min_scale"))),
      scale_(std::max(static_cast<float>(options.number("init_scale")), min_scale_)),
      patience_left_(patience_) {}

void PatientScale::update(bool found_inf) {
    if (found_inf) {
        steps_without_overflow_ = 0;
        patience_left_ = std::max<std::int64_t>(patience_left_ - 1, 0);
        if (patience_left_ == 0) scale_ = std::max(scale_ * 0.5F, min_scale_);
        return;
    }
    if (++steps_without_overflow_ < growth_interval_) return;
    steps_without_overflow_ = 0;
    patience_left_ = patience_;
    if (std::isfinite(scale_ * 2.0F)) scale_ *= 2.0F;
}

PrecisionState PatientScale::state() const {
    return {{{scale_key, at::scalar_tensor(scale_, at::kFloat)},
             {steps_key, at::scalar_tensor(steps_without_overflow_, at::kLong)},
             {patience_key, at::scalar_tensor(patience_left_, at::kLong)}}};
}

void PatientScale::load(const PrecisionState& state) {
    const auto scale = number_of(state, scale_key).item<float>();
    const auto steps = number_of(state, steps_key).item<std::int64_t>();
    const auto patience = number_of(state, patience_key).item<std::int64_t>();
    if (!(std::isfinite(scale) && scale > 0.0F) || steps < 0 || patience < 0)
        throw std::invalid_argument("patient_fp16: a loss scale of " + std::to_string(scale) + " after " +
                                    std::to_string(steps) + " steps, with patience for " +
                                    std::to_string(patience) + " overflows, is of no use");
    scale_ = scale;
    steps_without_overflow_ = steps;
    patience_left_ = std::min(patience, patience_);
}

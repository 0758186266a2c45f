#include "core/workbench/train/weight_average.h"

#include <ATen/core/grad_mode.h>

namespace switchyard::train {

WeightAverage::WeightAverage(double decay, const std::vector<ParameterGroup>& groups) : decay_(decay) {
    for (const auto& group : groups) {
        for (const auto& parameter : group.parameters) {
            const auto exact = (parameter.master.defined() ? parameter.master : parameter.value).detach();
            entries_.push_back(
                {parameter.name, parameter.value.detach(), exact, exact.to(at::kFloat, false, true)});
        }
    }
}

void WeightAverage::update() {
    const at::NoGradGuard no_grad;
    for (auto& entry : entries_) entry.average.lerp_(entry.exact.to(at::kFloat), 1.0 - decay_);
}

std::map<std::string, at::Tensor> WeightAverage::values() const {
    std::map<std::string, at::Tensor> all;
    for (const auto& entry : entries_) all[entry.name] = entry.average;
    return all;
}

void WeightAverage::set(const std::map<std::string, at::Tensor>& values) {
    const at::NoGradGuard no_grad;
    for (auto& entry : entries_) {
        const auto found = values.find(entry.name);
        entry.average.copy_(found != values.end() ? found->second : entry.exact);
    }
}

void WeightAverage::keep() const {
    const at::NoGradGuard no_grad;
    for (const auto& entry : entries_) entry.weight.copy_(entry.average);
}

WeightAverage::Shown::Shown(const WeightAverage& average) : average_(average) {
    for (const auto& entry : average.entries_) weights_.push_back(entry.weight.clone());
    average.keep();
}

WeightAverage::Shown::~Shown() {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < weights_.size(); ++i) average_.entries_[i].weight.copy_(weights_[i]);
}

}  // namespace switchyard::train

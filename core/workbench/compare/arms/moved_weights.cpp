#include "core/workbench/compare/arms/moved_weights.h"

#include <functional>
#include <string>

#include <ATen/Context.h>
#include <ATen/ops/empty_like.h>
#include <c10/core/GradMode.h>

namespace switchyard::compare {

MovedWeights::MovedWeights(model::Parameters& parameters) : parameters_(parameters) {
    const c10::NoGradGuard no_gradients;
    auto generator = at::globalContext().defaultGenerator(c10::DeviceType::CPU).clone();
    for (const auto& parameter : parameters_.all()) {
        // The same signs on all ranks that have it, whatever else they have.
        generator.set_current_seed(std::hash<std::string>{}(parameter.name));
        const auto value = parameter.value.detach();
        kept_.push_back(value.clone());
        const auto signs = at::empty_like(value, value.options().device(at::kCPU)).bernoulli_(0.5, generator);
        value.mul_(signs.mul_(2.0 * share).add_(1.0 - share).to(value.device()));
    }
}

MovedWeights::~MovedWeights() {
    const c10::NoGradGuard no_gradients;
    for (std::size_t i = 0; i < kept_.size(); ++i) parameters_.all()[i].value.detach().copy_(kept_[i]);
}

}  // namespace switchyard::compare

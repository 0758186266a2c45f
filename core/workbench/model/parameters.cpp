#include "core/workbench/model/parameters.h"

#include <stdexcept>
#include <utility>

namespace switchyard::model {

at::Tensor Parameters::add(const std::string& name, at::Tensor value, const ParameterCut& cut) {
    if (!by_name_.try_emplace(name, all_.size()).second)
        throw std::logic_error("parameter '" + name + "' is there already");
    value.set_requires_grad(true);
    all_.push_back({name, value, value.dim() >= 2, cut});
    return value;
}

const ModelParameter* Parameters::find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &all_[found->second];
}

std::shared_ptr<const QuantizedWeight> Parameters::add_quantized(const std::string& linear, std::int64_t out,
                                                                 std::int64_t in) {
    quantized_.push_back({linear, out, in, std::make_shared<QuantizedWeight>()});
    return quantized_.back().weight;
}

std::int64_t Parameters::bytes() const {
    std::int64_t bytes = 0;
    for (const auto& parameter : all_) bytes += static_cast<std::int64_t>(parameter.value.nbytes());
    return bytes;
}

void Parameters::zero_gradients() {
    for (auto& parameter : all_) parameter.value.mutable_grad() = at::Tensor();
}

}  // namespace switchyard::model

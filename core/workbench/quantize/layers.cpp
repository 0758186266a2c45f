#include "core/workbench/quantize/layers.h"

#include <map>

#include <ATen/ops/full.h>

#include <switchyard/reference/quantized_weight.h>
#include "core/kernel/config/name_pattern.h"

namespace switchyard::quantize {

std::vector<std::string> quantizable_layers(const std::vector<model::Linear>& linears) {
    std::vector<std::string> names;
    for (const auto& linear : linears)
        if (linear.owns_weight) names.push_back(linear.context.site->name);
    return names;
}

QuantizedWeight quantized_weight(const std::string& layer, const at::Tensor& weight,
                                 const config::QuantizationConfig& how, const InputScales& scales) {
    auto made = reference::quantized(weight.detach(), {how.bits(), how.group, how.zero_points});
    if (how.inputs() == InputQuantization::fixed)
        made.input_scale = at::full({}, scales.at(layer), at::TensorOptions().dtype(at::kFloat));
    return made;
}

model::Parameters quantized_parameters(const model::Parameters& parameters,
                                       const std::vector<std::string>& layers,
                                       const config::QuantizationConfig& how, const InputScales& scales) {
    std::map<std::string, std::string> layer_of;
    for (const auto& layer : layers)
        if (!config::any_matches(how.skip, layer)) layer_of[layer + ".weight"] = layer;
    model::Parameters stored;
    for (const auto& parameter : parameters.all()) {
        const auto value = parameter.value.detach();
        const auto found = layer_of.find(parameter.name);
        if (found == layer_of.end()) {
            stored.add(parameter.name, value);
            continue;
        }
        stored.add_quantized(found->second, value.size(0), value.size(1));
        *stored.quantized().back().weight = quantized_weight(found->second, value, how, scales);
    }
    return stored;
}

}  // namespace switchyard::quantize

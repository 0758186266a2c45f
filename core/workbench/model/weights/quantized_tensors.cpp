#include "core/workbench/model/weights/quantized_tensors.h"

#include <algorithm>
#include <array>
#include <utility>

#include <switchyard/reference/quantized_weight.h>
#include "core/kernel/base/joined.h"

namespace switchyard::model {
namespace {

constexpr const char* values_end = ".weight_values";
constexpr const char* scales_end = ".weight_scales";
constexpr const char* zero_points_end = ".weight_zero_points";
constexpr const char* input_scale_end = ".input_scale";

}  // namespace

std::string quantization_text(const config::QuantizationConfig& how) {
    return std::string(name(how.method)) + ", " +
           (how.group == 0 ? "whole rows" : "groups of " + std::to_string(how.group)) +
           (how.zero_points ? ", zero points" : "");
}

std::vector<NamedTensor> quantized_tensors(const Parameters& parameters) {
    std::vector<NamedTensor> all;
    for (const auto& layer : parameters.quantized()) {
        all.push_back({layer.name + values_end, layer.weight->values});
        all.push_back({layer.name + scales_end, layer.weight->scales});
        if (layer.weight->zero_points.defined())
            all.push_back({layer.name + zero_points_end, layer.weight->zero_points});
        if (layer.weight->input_scale.defined())
            all.push_back({layer.name + input_scale_end, layer.weight->input_scale});
    }
    return all;
}

bool QuantizedLoading::is_quantized_tensor(std::string_view name) {
    constexpr std::array ends{values_end, scales_end, zero_points_end, input_scale_end};
    return std::any_of(ends.begin(), ends.end(), [&](const char* end) { return name.ends_with(end); });
}

// A copy: the file's bytes may be at any address.
at::Tensor QuantizedLoading::find(const std::string& name) {
    const auto found = taken_.find(name);
    return found == taken_.end() ? at::Tensor() : found->second.value().clone();
}

QuantizedWeight QuantizedLoading::read(const QuantizedLayer& layer) {
    QuantizedWeight weight;
    weight.values = find(layer.name + values_end);
    weight.scales = find(layer.name + scales_end);
    if (how_.zero_points) weight.zero_points = find(layer.name + zero_points_end);
    if (how_.inputs() == InputQuantization::fixed) weight.input_scale = find(layer.name + input_scale_end);
    weight.in = layer.in;
    weight.group = how_.group;
    return weight;
}

// Layers of the file that the configuration has as floats, or not at all.
std::string QuantizedLoading::strangers() const {
    std::vector<std::string> names;
    for (const auto& [name, tensor] : taken_) {
        if (!name.ends_with(values_end)) continue;
        const auto layer = name.substr(0, name.size() - std::string_view(values_end).size());
        const auto is_it = [&](const auto& one) { return one.name == layer; };
        if (std::ranges::none_of(parameters_.quantized(), is_it)) names.push_back(layer);
    }
    if (names.empty()) return "";
    return "stores " + base::joined(names) +
           " in 8 or 4 bits, which the configuration does not; expected quantization.method and "
           "quantization.skip as the file was made";
}

std::vector<std::string> QuantizedLoading::problems(const std::string& file, const std::string& made) {
    std::vector<std::string> all;
    if (auto text = strangers(); !text.empty()) all.push_back(file + ": " + text);
    if (parameters_.quantized().empty()) return all;
    if (const auto expected = quantization_text(how_); !made.empty() && made != expected) {
        all.push_back(file + ": its layers were quantized as \"" + made + "\"; [quantization] says \"" +
                      expected + "\"");
        return all;
    }
    for (const auto& layer : parameters_.quantized()) {
        if (!taken_.contains(layer.name + values_end)) {
            all.push_back(file + ": has no tensor " + layer.name + values_end +
                          ", which [quantization] says is stored");
            continue;
        }
        auto weight = read(layer);
        std::string fault;
        if (weight.values.scalar_type() != (how_.bits() == 4 ? at::kByte : at::kChar))
            fault = "its values are not of " + std::to_string(how_.bits()) + " bits";
        else if (how_.zero_points && !weight.zero_points.defined())
            fault = "its zero points are missing";
        else if (how_.inputs() == InputQuantization::fixed && !weight.input_scale.defined())
            fault = "its input scale is missing";
        else
            fault = reference::problem_of(weight, layer.out, layer.in);
        if (!fault.empty()) all.push_back(file + ": " + layer.name + ": " + fault);
        read_[layer.name] = std::move(weight);
    }
    return all;
}

void QuantizedLoading::set() const {
    for (const auto& layer : parameters_.quantized()) *layer.weight = read_.at(layer.name);
}

}  // namespace switchyard::model

#include "core/workbench/model/builder.h"

#include <cmath>

namespace switchyard::model {
namespace {

std::shared_ptr<const LinearSite> site(const std::string& name, std::int64_t layer,
                                       const config::Config& config) {
    return std::make_shared<const LinearSite>(LinearSite{name, layer, config.model.layers});
}

}  // namespace

double Builder::deviation(LinearRole role, std::int64_t in) const {
    const auto& model = config_.model;
    const auto width = static_cast<double>(in);
    if (model.type == config::ModelType::t5) {
        const double own = 1.0 / std::sqrt(width);
        return role == LinearRole::query ? own / std::sqrt(static_cast<double>(model.head_dim)) : own;
    }
    const bool into_residual = role == LinearRole::attention_out || role == LinearRole::feed_forward_out;
    const bool scaled = model.type == config::ModelType::gpt && into_residual;
    return scaled ? 0.02 / std::sqrt(2.0 * static_cast<double>(model.layers)) : 0.02;
}

// Only a decoder generates; the encoder that it attends to runs once, with the prompt. Heads and losses are
// of training and evaluation.
bool Builder::runs(const SlotPlace& place, Phase phase) const {
    if (phase == Phase::train || phase == Phase::eval) return true;
    const auto stack = place.layer ? place.layer->stack : parse<config::Stack>(place.layers);
    if (!stack) return false;
    return *stack == config::Stack::decoder ||
           (config_.model.has(config::Stack::decoder) && phase == Phase::prefill);
}

Linear Builder::linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                       std::int64_t layer) {
    return linear(name, in, out, role, layer, config_.model.bias);
}

Linear Builder::linear(const std::string& name, std::int64_t in, std::int64_t out, LinearRole role,
                       std::int64_t layer, bool bias) {
    Linear result;
    result.weight = parameter(name + ".weight", {out, in}, {Initial::normal, deviation(role, in)});
    if (bias) result.bias = parameter(name + ".bias", {out}, {Initial::zeros});
    result.site = site(name, layer, config_);
    result.precision = precision();
    note_linear(in, out);
    return result;
}

Linear Builder::tied_linear(const std::string& name, const at::Tensor& weight, std::int64_t in,
                            std::int64_t out) {
    note_linear(in, out);
    return {weight, {}, site(name, 0, config_), precision()};
}

Norm Builder::norm(const std::string& name) {
    const auto& model = config_.model;
    Norm result;
    result.name = name;
    result.weight = parameter(name + ".weight", {model.hidden_size}, {Initial::ones});
    if (model.norm == NormKind::layer_norm && model.bias)
        result.beta = parameter(name + ".bias", {model.hidden_size}, {Initial::zeros});
    return result;
}

at::Tensor Builder::embedding(const std::string& name, std::int64_t rows) {
    const auto& model = config_.model;
    return parameter(name, {rows, model.hidden_size},
                     {Initial::normal, model.type == config::ModelType::t5 ? 1.0 : 0.02});
}

}  // namespace switchyard::model

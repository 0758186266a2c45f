#include "core/workbench/model/builder.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/kernel/config/mesh_checks.h"
#include "core/kernel/config/name_pattern.h"
#include "core/workbench/model/low_rank.h"

namespace switchyard::model {

Builder::Builder(const config::Config& config)
    : config_(config), stage_(config), left_out_(config.linear), stored_as_floats_(config.linear) {
    const auto& stored = config.quantization;
    left_out_.backend = stored.skip_backend;
    if (stored.inputs() == InputQuantization::fixed)
        stored_as_floats_ = left_out_;  // no calibration found a scale for it
    else if (stored.method_of_floats() != stored.method)
        stored_as_floats_.backend = {std::string(name(stored.method_of_floats()))};
}

bool Builder::left_out(const LinearPlace& place) const {
    return config_.quantization.given() && config::any_matches(config_.quantization.skip, place.name);
}

const config::SlotConfig& Builder::slot_config(const LinearPlace& place, bool quantized) const {
    if (left_out(place)) return left_out_;
    return config_.quantization.given() && !quantized ? stored_as_floats_ : place.config;
}

// A loss that projects reads the head's weight itself.
bool Builder::stored_quantized(const LinearPlace& place) const {
    const bool read_by_others = place.role == LinearRole::head && config_.loss.projection;
    return config_.quantization.given() && !read_by_others && !left_out(place);
}

Unit Builder::side_of(config::Stack stack) const {
    const bool beside_encoder = stack == config::Stack::decoder && config_.model.has(config::Stack::encoder);
    return beside_encoder ? Unit::target : Unit::source;
}

Unit Builder::output_side() const {
    return side_of(config_.model.has(config::Stack::decoder) ? config::Stack::decoder
                                                             : config::Stack::encoder);
}

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

// Only a decoder generates; the encoder that it attends to runs once, with the prompt, and so does what
// projects its result. Losses are of training and evaluation.
bool Builder::runs(const SlotPlace& place, Phase phase) const {
    if (!Requests::generates(phase)) return true;
    const auto stack = place.layer ? place.layer->stack : parse<config::Stack>(place.layers);
    if (!stack) return place.kind == Kind::linear;  // the head
    if (phase == Phase::decode && place.of_memory) return false;
    return *stack == config::Stack::decoder ||
           (config_.model.has(config::Stack::decoder) && phase == Phase::prefill);
}

Linear Builder::linear(const LinearPlace& place, std::int64_t in, std::int64_t out, bool bias) {
    Linear result;
    const bool quantized = stored_quantized(place);
    const auto rows = place.cut.side == LinearCut::out ? cut(0, place.cut.blocks) : ParameterCut();
    const auto columns = place.cut.side == LinearCut::in ? cut(1, place.cut.blocks) : ParameterCut();
    if (quantized)
        result.context.quantized = quantized_weight(place.name, out, in);
    else
        result.weight =
            parameter(place.name + ".weight", {out, in}, {Initial::normal, deviation(place.role, in)},
                      columns.whole() ? rows : columns);
    if (bias) result.bias = parameter(place.name + ".bias", {out}, {Initial::zeros}, rows);
    // A loss that projects reads the head's weight itself.
    result.owns_weight = !quantized && (place.role != LinearRole::head || !config_.loss.projection);
    attach(result, place, in / columns.part.parts, out / rows.part.parts, bias, quantized);
    if (place.layer && config_.lora.rank > 0 && config::any_matches(config_.lora.targets, place.name))
        result.low_rank = low_rank(place, in, out);
    return result;
}

std::shared_ptr<const LowRank> Builder::low_rank(const LinearPlace& place, std::int64_t in,
                                                 std::int64_t out) {
    const auto rank = config_.lora.rank;
    auto made = std::make_shared<LowRank>();
    made->scale = low_rank_scale(config_.lora);
    const auto make = [&](Linear& linear, const char* part, std::int64_t from, std::int64_t to,
                          const Initial& initial, const ParameterCut& cut) {
        auto its = place;
        its.name += part;
        linear.weight = parameter(its.name + ".weight", {to, from}, initial, cut);
        const auto own = cut.own_sizes({to, from});
        attach(linear, its, own[1], own[0], false);
    };
    // As the layer's own weight is: A takes in what the layer does, B gives what it gives.
    const bool gives_part = place.cut.side == LinearCut::out, takes_part = place.cut.side == LinearCut::in;
    make(made->a, ".lora_a", in, rank, {Initial::uniform, 1.0 / std::sqrt(static_cast<double>(in))},
         takes_part ? cut(1, place.cut.blocks) : ParameterCut());
    make(made->b, ".lora_b", rank, out, {Initial::zeros},
         gives_part ? cut(0, place.cut.blocks) : ParameterCut());
    return made;
}

Linear Builder::tied_linear(const LinearPlace& place, const at::Tensor& weight, std::int64_t in,
                            std::int64_t out, bool bias) {
    Linear result;
    result.weight = weight;
    attach(result, place, in, out, bias);
    return result;
}

namespace {

// Of a prompt only the last token's row is needed.
Range head_rows(const Requests& requests, Phase phase) {
    if (phase == Phase::prefill) return requests.batch(phase);
    if (phase == Phase::decode) return requests.rows(phase);
    return {0, std::max(requests.rows(phase).max, requests.batch().max)};
}

}  // namespace

void Builder::attach(Linear& linear, const LinearPlace& place, std::int64_t in, std::int64_t out, bool bias,
                     bool quantized) {
    note_linear(place, in, out);
    const auto& config = slot_config(place, quantized);
    linear.context.site = std::make_shared<const LinearSite>(
        LinearSite{place.name, place.layer ? place.layer->index : 0, config_.model.layers});
    linear.context.policy = precision();
    if (linear.context.policy) linear.context.weights = linear.context.policy->weights();
    const auto layers = place.layer ? config::to_string(*place.layer) : "model";
    const auto part = place.layer ? place.name.substr(layers.size() + 1) : place.name;
    linear.operation = slot<runtime::LinearOp>(
        {Kind::linear, "linear." + part, layers, config, place.layer, place.of_memory},
        [&](const Requests& requests, Phase phase) {
            auto r = quantized ? requests.quantized_linear(place.name, phase, config)
                               : requests.linear(place.name, phase, config);
            r.rows = place.layer ? requests.rows(phase) : head_rows(requests, phase);
            r.in = in;
            r.out = out;
            r.bias = bias;
            return r;
        });
    made(linear);
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

ParameterCut Builder::word_cut() const { return config::cuts_words(config_) ? cut(0) : ParameterCut(); }

at::Tensor Builder::embedding(const std::string& name, std::int64_t rows, const ParameterCut& cut) {
    const auto& model = config_.model;
    return parameter(name, {rows, model.hidden_size},
                     {Initial::normal, model.type == config::ModelType::t5 ? 1.0 : 0.02}, cut);
}

}  // namespace switchyard::model

#include "core/workbench/model/describer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/resolver/request_fields.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/window_pairs.h"

namespace switchyard::model {
namespace {

// "encoder.3", "encoder.0-5"
std::string span_of(const config::LayerId& first, const config::LayerId& last) {
    const auto text = config::to_string(first);
    return first == last ? text : text + "-" + std::to_string(last.index);
}

bool follows(const config::LayerId& layer, const config::LayerId& last) {
    return layer.stack == last.stack && layer.index == last.index + 1;
}

bool alike(const ModelPart& a, const ModelPart& b) {
    return a.shapes == b.shapes && a.parameters == b.parameters && a.forward_flops == b.forward_flops &&
           a.activation_bytes == b.activation_bytes;
}

// "linear.attention.q" and "linear.attention.k" make "linear.attention.q,k".
std::string joined_slot(const std::string& slots, const std::string& slot) {
    return slots + "," + slot.substr(slot.rfind('.') + 1);
}

bool of_one_module(const std::string& a, const std::string& b) {
    return a.substr(0, a.rfind('.')) == b.substr(0, b.rfind('.'));
}

// Linear layers of one module that are asked for alike become one use, so that a plan is as long as a model
// has different products.
void join_alike(std::vector<resolver::SlotUse>& uses) {
    std::vector<resolver::SlotUse> joined;
    for (auto& use : uses) {
        const auto same = std::find_if(joined.begin(), joined.end(), [&](const auto& other) {
            return use.kind == Kind::linear && other.kind == use.kind && other.phase == use.phase &&
                   other.layers == use.layers && of_one_module(other.slot, use.slot) &&
                   other.config == use.config && resolver::equal(use.kind, *other.request, *use.request);
        });
        if (same == joined.end()) {
            joined.push_back(std::move(use));
            continue;
        }
        if (same->members.empty()) same->members.push_back(same->slot);
        same->members.push_back(use.slot);
        same->slot = joined_slot(same->slot, use.slot);
    }
    uses = std::move(joined);
}

}  // namespace

Describer::Describer(const config::Config& config, const Dtypes& dtypes)
    : Builder(config),
      requests_(config, dtypes),
      value_bytes_(static_cast<double>(size_of(config.precision.parameter_dtype.value_or(DType::float32)))) {}

at::Tensor Describer::parameter(const std::string& name, std::vector<std::int64_t> sizes, const Initial&,
                                const ParameterCut& cut) {
    if (!stage().has(name)) return {};
    sizes = cut.own_sizes(std::move(sizes));
    auto& part = parts_.back().part;
    std::int64_t values = 1;
    for (const auto size : sizes) values *= size;
    part.parameters += values;
    parameters_.push_back({name, sizes});
    if (sizes.size() < 2) return {};
    // "encoder.0.attention.q.weight" is told as "q 384x384".
    const auto end = name.ends_with(".weight") ? name.rfind('.') : name.size();
    const auto begin = name.rfind('.', end - 1) + 1;
    base::add_item(part.shapes, name.substr(begin, end - begin) + " " + std::to_string(sizes[0]) + "x" +
                                    std::to_string(sizes[1]));
    return {};
}

// Told as the parameter that it stands for.
std::shared_ptr<const QuantizedWeight> Describer::quantized_weight(const std::string& linear,
                                                                   std::int64_t out, std::int64_t in) {
    parameter(linear + ".weight", {out, in}, {}, {});
    return nullptr;
}

void Describer::begin_part(const std::string& name, const config::LayerId* layer, std::optional<Unit> rows) {
    std::optional<config::LayerId> id;
    if (layer != nullptr) id = *layer;
    parts_.push_back(
        {{}, name, id, id, rows == Unit::sequences ? config().batch.size : tokens(), runs_here(name, layer)});
}

bool Describer::runs_here(const std::string& name, const config::LayerId* layer) const {
    if (layer != nullptr) {
        const auto own = stage().layers(layer->stack);
        return layer->index >= own.begin && layer->index < own.end;
    }
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder})
        if (name.starts_with(switchyard::name(stack)))
            return name.ends_with("final norm") ? stage().ends(stack) : stage().has(stack);
    return name == "embeddings" ? stage().embeds() : stage().is_last();
}

void Describer::add_costs(std::int64_t rows, std::int64_t values) {
    if (!parts_.back().runs) return;
    parts_.back().part.activation_bytes +=
        static_cast<double>(rows) * static_cast<double>(values) * value_bytes_;
}

void Describer::add_attention(Unit, std::int64_t width, std::int64_t window) {
    auto& here = parts_.back();
    if (!here.runs || !here.first) return;
    const auto length = config().batch.max_length;
    here.part.forward_flops += 2.0 * product_flops(tokens(), width, length) *
                               share_in_window(config().model, here.first->stack, window, length);
}

void Describer::note_linear(const LinearPlace& place, std::int64_t in, std::int64_t out) {
    if (place.layer && !is_low_rank(place.name + ".weight")) linear_layers_.push_back(place.name);
    if (parts_.back().runs) parts_.back().part.forward_flops += product_flops(parts_.back().rows, in, out);
}

std::vector<ModelPart> Describer::parts() const {
    std::vector<LayerPart> joined;
    for (const auto& next : parts_) {
        if (!next.runs && next.part.parameters == 0) continue;
        const auto last = std::find_if(joined.rbegin(), joined.rend(), [&](const auto& part) {
            return next.first && part.last && part.label == next.label && follows(*next.first, *part.last) &&
                   alike(part.part, next.part);
        });
        if (last == joined.rend())
            joined.push_back(next);
        else
            last->last = next.last;
    }
    std::vector<ModelPart> parts;
    for (const auto& one : joined) {
        auto part = one.part;
        part.name = one.first ? span_of(*one.first, *one.last) + " " + one.label : one.label;
        part.layers = one.first ? one.last->index - one.first->index + 1 : 1;
        part.parameters *= part.layers;
        part.forward_flops *= static_cast<double>(part.layers);
        part.activation_bytes *= static_cast<double>(part.layers);
        parts.push_back(std::move(part));
    }
    return parts;
}

config::Origin Describer::origin_of(const SlotPlace& place) const {
    const auto key = std::string(name(place.kind)) + ".backend";
    const auto& rules = config().layers;
    for (auto rule = rules.rbegin(); place.layer && rule != rules.rend(); ++rule) {
        if (std::find(rule->layers.begin(), rule->layers.end(), *place.layer) == rule->layers.end()) continue;
        for (const auto& value : rule->values) {
            if (value.key == key) return value.origin;
        }
    }
    const auto found = config().origins.find(key);
    return found == config().origins.end() ? config::Origin{} : found->second;
}

void Describer::add_use(const SlotPlace& place, Phase phase, std::shared_ptr<const Request> request) {
    for (auto& use : uses_) {
        if (!place.layer || use.slot != place.slot || use.phase != phase || use.layer_ids.empty()) continue;
        if (!follows(*place.layer, use.layer_ids.back()) || !(use.config == place.config) ||
            !resolver::equal(place.kind, *use.request, *request))
            continue;
        use.layer_ids.push_back(*place.layer);
        use.layers = span_of(use.layer_ids.front(), use.layer_ids.back());
        return;
    }
    std::vector<config::LayerId> layers;
    if (place.layer) layers.push_back(*place.layer);
    uses_.push_back({place.kind, place.slot, place.layers, std::move(layers), phase, std::move(request),
                     place.config, origin_of(place)});
}

runtime::Operation Describer::operation(const SlotPlace& place, Phase phase, const MakeRequest& request) {
    add_use(place, phase, request(requests_));
    return {};
}

std::vector<resolver::SlotUse> Describer::uses() const {
    const auto& phases = config().run.phases;
    const auto place_of = [&](const resolver::SlotUse& use) {
        return std::tuple(use.kind, use.slot, std::find(phases.begin(), phases.end(), use.phase));
    };
    auto sorted = uses_;
    join_alike(sorted);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const auto& a, const auto& b) { return place_of(a) < place_of(b); });
    return sorted;
}

}  // namespace switchyard::model

#include "core/kernel/config/config.h"

#include <algorithm>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/derive.h"

namespace switchyard::config {

std::string to_string(const Origin& origin) {
    const std::string place =
        origin.line == 0 ? "" : ':' + std::to_string(origin.line) + ':' + std::to_string(origin.column);
    if (origin.source == Origin::Source::file) return base::printable(origin.name) + place;
    if (origin.source == Origin::Source::preset) return "preset " + origin.name + place;
    if (origin.source == Origin::Source::override) return origin.name;
    return origin.name.empty() ? "default" : "default (" + origin.name + ')';
}

const SlotConfig& Config::slot(Kind kind) const {
#define SWITCHYARD_SLOT(name, ...) &name,
    const SlotConfig* const slots[] = {SWITCHYARD_KINDS(SWITCHYARD_SLOT)};
#undef SWITCHYARD_SLOT
    return *slots[static_cast<std::size_t>(kind)];
}

SlotConfig& Config::slot(Kind kind) { return const_cast<SlotConfig&>(std::as_const(*this).slot(kind)); }

std::string Config::where(std::string_view key) const {
    const auto found = origins.find(key);
    return to_string(found == origins.end() ? Origin{} : found->second);
}

std::string Config::written_at(std::string_view key) const {
    const auto found = origins.find(key);
    const bool written = found != origins.end() && found->second.source != Origin::Source::standard;
    return written ? to_string(found->second) : "";
}

LayerConfig Config::layer(const LayerId& id) const {
    Config here;
    here.model = model;
    here.attention = attention;
    here.normalization = normalization;
    here.activation = activation;
    here.linear = linear;
    for (const auto& rule : layers) {
        if (!std::ranges::binary_search(rule.layers, id)) continue;
        for (const auto& assignment : rule.values) apply(here, assignment);
    }
    return {here.model, here.attention, here.normalization, here.activation, here.linear};
}

std::vector<LayerId> Config::layer_ids() const {
    std::vector<LayerId> ids;
    for (const Stack stack : {Stack::encoder, Stack::decoder}) {
        for (std::int64_t i = 0; i < model.layers_of(stack); ++i) ids.push_back({stack, i});
    }
    return ids;
}

}  // namespace switchyard::config

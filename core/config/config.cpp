#include <switchyard/config/config.h>

#include <algorithm>

#include <switchyard/config/derive.h>

namespace switchyard::config {

std::string to_string(const Origin& origin) {
    const std::string place = ':' + std::to_string(origin.line) + ':' + std::to_string(origin.column);
    switch (origin.source) {
        case Origin::Source::standard:
            return origin.name.empty() ? "default" : "default (" + origin.name + ')';
        case Origin::Source::file:
            return origin.name + place;
        case Origin::Source::preset:
            return "preset " + origin.name + place;
        case Origin::Source::override:
            return origin.name;
    }
    return {};
}

const SlotConfig& Config::slot(Kind kind) const {
    switch (kind) {
        case Kind::attention:
            return attention;
        case Kind::normalization:
            return normalization;
        case Kind::activation:
            return activation;
        case Kind::loss:
            return loss;
        case Kind::optimizer:
            return optimizer;
        case Kind::precision:
            return precision;
        case Kind::data_loader:
            break;
    }
    return data_loader;
}

SlotConfig& Config::slot(Kind kind) { return const_cast<SlotConfig&>(std::as_const(*this).slot(kind)); }

std::string Config::where(std::string_view key) const {
    const auto found = origins.find(key);
    return to_string(found == origins.end() ? Origin{} : found->second);
}

LayerConfig Config::layer(const LayerId& id) const {
    Config here;
    here.model = model;
    here.attention = attention;
    here.normalization = normalization;
    here.activation = activation;
    for (const auto& rule : layers) {
        if (!std::binary_search(rule.layers.begin(), rule.layers.end(), id)) continue;
        for (const auto& assignment : rule.values) apply(here, assignment);
    }
    return {here.model, here.attention, here.normalization, here.activation};
}

std::vector<LayerId> Config::layer_ids() const {
    std::vector<LayerId> ids;
    for (const Stack stack : {Stack::encoder, Stack::decoder}) {
        for (std::int64_t i = 0; i < model.layers_of(stack); ++i) ids.push_back({stack, i});
    }
    return ids;
}

}  // namespace switchyard::config

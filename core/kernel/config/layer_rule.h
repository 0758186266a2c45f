// [[layer]]: other values for some layers.
//
//     [[layer]]
//     match = "encoder.0-3,11"       # encoder|decoder . numbers, ranges or *;  "*" alone: every layer
//     attention.backend = "naive"    # any key of attention, normalization, activation and linear, and
//     model.window = 128             # those of [model] that a layer can have for itself (docs/config.md)
//
// Rules are applied in the order in which they are written; a later one wins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/kernel/config/model_config.h"
#include "core/kernel/config/origin.h"
#include "core/kernel/config/slot_config.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

struct LayerId {
    Stack stack = Stack::encoder;
    std::int64_t index = 0;
    auto operator<=>(const LayerId&) const = default;
};

// "encoder.3"
std::string to_string(const LayerId& layer);

// One value on its way into a Config. `key` is a path of the table ("attention.backend"); for an option of a
// component it is "attention.options" and `component`, `option` say which.
struct Assignment {
    std::string key;
    std::string component;
    std::string option;
    Value value;
    Origin origin;
};

struct LayerRule {
    std::string match;
    // What `match` means for this model, in order; never empty in a loaded Config.
    std::vector<LayerId> layers;
    std::vector<Assignment> values;
    Origin origin;
};

// What holds for one layer.
struct LayerConfig {
    ModelConfig model;
    SlotConfig attention;
    SlotConfig normalization;
    SlotConfig activation;
    SlotConfig linear;
    bool operator==(const LayerConfig&) const = default;
};

}  // namespace switchyard::config

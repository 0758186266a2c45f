// What a [[layer]] rule's `match` means:   "*"  |  (encoder | decoder) "." item {"," item},   item = number |
// number "-" number | "*"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/layer_rule.h"
#include "core/kernel/config/model_config.h"

namespace switchyard::config {

struct PatternResult {
    std::vector<LayerId> layers;  // sorted, each once; empty if and only if there is a message
    std::string message;          // what is wrong
    std::string expected;
};

PatternResult match_layers(std::string_view pattern, const ModelConfig& model);

}  // namespace switchyard::config

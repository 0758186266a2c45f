// [[group]]: parameters that are trained in a way of their own, or not at all.
//
//     [[group]]
//     match = ["embeddings.*", "encoder.0.*"]
//     lr_factor = 0.1
//
// A pattern is the name of a parameter, as `switchyard model --parameters` lists them, in which * stands for
// any characters. Of several groups that match a parameter the last one holds.
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/origin.h"

namespace switchyard::config {

struct GroupConfig {
    std::vector<std::string> match;
    bool frozen = false;               // not trained: no gradient is computed, no state kept
    double lr_factor = 1.0;            // of optimizer.lr
    double weight_decay_factor = 1.0;  // of optimizer.weight_decay
    Origin origin = {};

    bool operator==(const GroupConfig& other) const {
        return match == other.match && frozen == other.frozen && lr_factor == other.lr_factor &&
               weight_decay_factor == other.weight_decay_factor;
    }
};

}  // namespace switchyard::config

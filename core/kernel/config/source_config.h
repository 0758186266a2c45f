// [[data.source]]: one of several sources that training samples are drawn from.
//
//     [[data.source]]
//     files = ["reviews/*.csv.gz"]
//     weight = 3.0
//     text_column = "review"
//
// Weights are shares of an epoch: a source of weight 3 beside one of weight 1 gives three quarters of its
// samples, however large both are (data.stopping says how long an epoch is).
#pragma once

#include <string>
#include <vector>

#include "core/kernel/config/origin.h"

namespace switchyard::config {

struct SourceConfig {
    std::string name;  // for what is told of it; empty: its first file
    std::vector<std::string> files;
    double weight = 1.0;
    std::string text_column, label_column;  // empty: those of [data]
    Origin origin = {};

    const std::string& shown_name() const { return name.empty() && !files.empty() ? files.front() : name; }
    bool operator==(const SourceConfig& other) const {
        return name == other.name && files == other.files && weight == other.weight &&
               text_column == other.text_column && label_column == other.label_column;
    }
};

}  // namespace switchyard::config

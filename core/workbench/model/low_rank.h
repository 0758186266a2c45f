// Low-rank adapters of linear layers: [lora] of the configuration (core/kernel/config/lora_config.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/parameters.h"

namespace switchyard::model {

// Parameters of the adapter of the linear layer "encoder.0.attention.q".
inline std::string low_rank_a(const std::string& linear) { return linear + ".lora_a.weight"; }
inline std::string low_rank_b(const std::string& linear) { return linear + ".lora_b.weight"; }
bool is_low_rank(std::string_view parameter);
// Where ranks have a part of one of an adapter's two, each makes a part of the gradient of the other, which
// all have; the gradient is the sum of theirs.
bool has_partial_gradient(const Parameters& parameters, const std::string& parameter);

// What an adapter adds is multiplied by this.
inline double low_rank_scale(const config::LoraConfig& lora) {
    return lora.alpha / static_cast<double>(lora.rank);
}

// Targets that are no linear layer of a stack, and names in lora.trained that are no parameter, each with its
// place and the names that are nearest; and, of a job with data, that there are no weights to adapt.
std::vector<std::string> low_rank_problems(const config::Config& config,
                                           const std::vector<std::string>& linear_layers,
                                           const std::vector<std::string>& parameters);

// Parameters without adapters, each weight that has one with what it adds: weight + alpha / rank B A, in
// float32, rounded to the weight's dtype. Values that are not changed are shared.
Parameters merged(const config::LoraConfig& lora, const Parameters& parameters);

}  // namespace switchyard::model

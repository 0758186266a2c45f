// What was seen of one training step: which memory was live when and what for, what it computed and moved;
// and how it is told to others, as JSON.
//
// No LibTorch here.
#pragma once

#include <cstdint>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/profile/memory_profile.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

struct ObservedStep {
    MemoryProfile memory;
    Cost cost;  // of all slots together
    std::int64_t samples = 0, tokens = 0;
};

nlohmann::ordered_json memory_json(const MemoryProfile& memory);
nlohmann::ordered_json to_json(const ObservedStep& step);
// Throws base::InputError where it is none.
ObservedStep read_observed_step(const nlohmann::ordered_json& json);

}  // namespace switchyard::profile

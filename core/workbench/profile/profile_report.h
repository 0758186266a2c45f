// A profile as text, as JSON (docs/schema/profile.json), as a page, and the events of its steps as a trace.
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/profile/profile.h"
#include "core/workbench/profile/recording.h"

namespace switchyard::profile {

// Of what it is a profile.
struct ProfileFacts {
    std::string config;  // the file
    std::string host;    // the processor, in words
    int threads = 0;
    std::string command;
};

// At most 110 characters a line.
std::string profile_text(const Profile& profile, const ProfileFacts& facts);
nlohmann::ordered_json roofs_json(const Roofs& roofs);
nlohmann::ordered_json profile_json(const Profile& profile, const ProfileFacts& facts);
std::string profile_page(const Profile& profile, const ProfileFacts& facts);

// Trace Event Format, as chrome://tracing and Perfetto read it: each event complete ("X"), nested by its
// times, with slot, layer, pass, operations and bytes; and live memory over the last step as counters ("C").
std::string chrome_trace(const std::vector<Recording>& steps, const Recording& memory_step,
                         const MemoryProfile& memory);

// What the part of a step that is of no slot is called.
inline constexpr const char* between_operators = "between operators";

// "9.6 %", "27 %".
std::string percent(double share);

// "data_loader" as "data", "precision_clipping" as "precision, clipping".
std::string in_words_of_slot(const std::string& slot);

}  // namespace switchyard::profile

// Reads what `switchyard compare --json` wrote, as far as a later comparison needs it: who ran, and every
// block.
//
// Throws base::InputError, with the file and what is wrong, where the file cannot be read or is none of
// these.
//
// No LibTorch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

struct RecordedComparison {
    Comparison comparison;                             // arms with their blocks, and pairs; no losses
    std::string title;                                 // what model on what batches
    std::string host;                                  // name of the machine and its processor
    std::map<std::string, std::string> shared_values;  // arm_list.h
};

// Of "host" in a comparison's JSON.
std::string host_text(const nlohmann::ordered_json& host);

RecordedComparison read_comparison(const std::string& file);
RecordedComparison comparison_of(const std::string& text, const std::string& file);

}  // namespace switchyard::compare

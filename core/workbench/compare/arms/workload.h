// What inference is timed on: so many sequences of such lengths, and so many new tokens after each.
//
// No LibTorch here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/bench/bench_settings.h"

namespace switchyard::compare {

struct Workload {
    std::int64_t batch = 1;      // sequences
    bench::LengthRange lengths;  // of the sequences: prompts where tokens are generated
    std::int64_t tokens = 0;  // that are generated after each; 0: the sequences pass through the model once

    std::int64_t longest() const { return lengths.max + tokens; }
    // Tokens of a stack's longest row: where there is an encoder it has the prompt alone, the decoder what is
    // written, after a token to begin with.
    std::int64_t longest_row(bool encoder) const {
        return encoder ? std::max(lengths.max, std::max<std::int64_t>(tokens, 1)) : longest();
    }
    // "128", "8-128", "40:512".
    std::string lengths_text() const;
    // "8 x 128", "8 x 128 + 64".
    std::string text() const;
};

// {"batch": 8, "lengths": "128", "tokens": 64}, as messages and results have it.
nlohmann::ordered_json to_json(const Workload& workload);
// Throws std::runtime_error that says what is wrong with it.
Workload read_workload(const nlohmann::ordered_json& json);

}  // namespace switchyard::compare

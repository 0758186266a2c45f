// One token from a model's logits: processors change them (logits/logits_processor.h), then one is drawn, or
// the likeliest is taken.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/workbench/infer/logits/logits_processor.h"

namespace switchyard::infer {

struct Sampling {
    double temperature = 1.0;         // 0: always the likeliest token, the first of several
    std::int64_t top_k = 0;           // 0: all
    double top_p = 1.0;               // 1: all
    double min_p = 0.0;               // 0: all
    double repetition_penalty = 1.0;  // 1: none
};

// Tokens that may never come.
struct Forbidden {
    Ids tokens;
    std::int64_t first_unknown = std::numeric_limits<std::int64_t>::max();  // nor any from this one on
};

// A token that may come, with its probability after all processors.
struct Candidate {
    std::int64_t token;
    double probability;
};
using Candidates = std::vector<Candidate>;  // in the order of their numbers; probabilities sum to 1

// The one in whose part of [0, 1) `draw` falls; the parts lie in the order of the candidates.
std::int64_t drawn(const Candidates& candidates, double draw);

class TokenChooser {
public:
    explicit TokenChooser(const Sampling& sampling, Forbidden forbidden = {});

    // `logits` [V]: of what may follow `tokens`, the whole row from its beginning. All throw NonfiniteLogits,
    // and std::runtime_error where no token may come.
    Candidates candidates(std::span<const float> logits, const Ids& tokens) const;
    // `draw` is uniform in [0, 1).
    std::int64_t choose(std::span<const float> logits, const Ids& tokens, double draw) const;
    // For beams: logarithms of the probabilities, then penalty and forbidden tokens, as transformers have it,
    // and nothing that is for draws.
    std::vector<float> log_probabilities(std::span<const float> logits, const Ids& tokens) const;

private:
    bool greedy_;
    LogitsProcessors scoring_, for_draws_;
};

}  // namespace switchyard::infer

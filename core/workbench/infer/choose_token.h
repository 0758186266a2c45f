// One token from a model's logits.
#pragma once

#include <cstdint>
#include <vector>

namespace switchyard::infer {

struct Sampling {
    double temperature =
        1.0;                 // logits are divided by it; 0: always the likeliest token, the first of several
    std::int64_t top_k = 0;  // among the k likeliest only; 0: all
    double top_p =
        // among the likeliest that have this share of the probability together, one at least (Holtzman et al.
        // 2020, arXiv:1904.09751)
        1.0;
};

// A token with its probability after temperature, top_k and top_p, likeliest first, those of equal logits in
// their order.
struct Candidate {
    std::int64_t token;
    double probability;
};

// -inf is never taken. Throws std::runtime_error where no logit is finite.
std::vector<Candidate> candidates(const std::vector<double>& logits, const Sampling& sampling);

// `draw` is uniform in [0, 1).
std::int64_t choose_token(const std::vector<double>& logits, const Sampling& sampling, double draw);

}  // namespace switchyard::infer

// Speculative decoding (Leviathan et al. 2023, arXiv:2211.17192): a small model drafts some tokens, and the
// large one looks at all of them at once. A drafted token x is accepted with probability min(1, p(x) / q(x)),
// p and q what the large and the small model draw from; where it is not, the token is drawn from what p has
// more than q. So texts have the distribution that the large model alone would give them, and with
// temperature 0 they are the same.
#pragma once

#include "core/workbench/infer/choose_token.h"
#include "core/workbench/infer/generated.h"
#include "core/workbench/infer/generation_speed.h"
#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

struct Draft {
    GrowingRows& rows;
    std::int64_t max_length;  // of a row of the small model: beyond, nothing is drafted
    std::int64_t tokens = 4;  // drafted at a time
};

struct Speculation {
    std::int64_t drafted = 0;
    std::int64_t accepted = 0;
    std::int64_t rounds = 0;  // how often the large model looked at drafted tokens

    double acceptance() const {
        return drafted > 0 ? static_cast<double>(accepted) / static_cast<double>(drafted) : 0.0;
    }
};

// Samples go one after another, since each accepts as many tokens as it does; each depends on its prompt, the
// seed and its number alone. `chooser` serves both models, which have one tokenizer. Adds to `speed` and
// `speculation`. Throws what the chooser throws.
GeneratedSamples speculate(GrowingRows& rows, const Draft& draft, const TokenChooser& chooser,
                           const GenerationRequest& request, const GenerationHooks& hooks,
                           GenerationSpeed& speed, Speculation& speculation);

// Draws from max(0, p - q), scaled to 1; from p where there is nothing in it but what rounding left.
std::int64_t drawn_from_rest(const Candidates& p, const Candidates& q, double draw);

}  // namespace switchyard::infer

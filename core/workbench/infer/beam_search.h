// Beam search: of each prompt the `beams` likeliest texts by now go on, and the best that have ended are
// kept.
//
// When a text ends and when the search does is as in transformers 5 (GenerationMixin._beam_search): of each
// step max(2, 1 + tokens that end a text) * beams continuations are looked at; one that ends a text counts if
// it is among the first `beams` of them. A text's score is the sum of the logarithms of its tokens'
// probabilities, that of the token which ends it included, divided by (number of these tokens) ^
// length_penalty. A search ends when `beams` texts have ended and the likeliest that goes on would score no
// better than the worst of them if it ended now; with early_stopping as soon as `beams` texts have ended.
#pragma once

#include "core/workbench/infer/choose_token.h"
#include "core/workbench/infer/generated.h"
#include "core/workbench/infer/generation_speed.h"
#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

struct BeamOptions {
    std::int64_t beams = 1;
    double length_penalty = 1.0;  // above 0 favours long texts, below 0 short ones
    bool early_stopping = false;
};

// Of each prompt the `request.samples` best texts, best first, at most `beams`; fewer where the vocabulary
// has no more. request.batch / beams prompts, one at least, are searched beside one another. `hooks.ended` is
// asked of each continuation that is looked at, with sample 0. What `interrupted` stops gives its likeliest
// texts by then. Throws what the chooser throws.
GeneratedSamples beam_search(GrowingRows& rows, const TokenChooser& chooser, const BeamOptions& options,
                             const GenerationRequest& request, const GenerationHooks& hooks,
                             GenerationSpeed& speed);

}  // namespace switchyard::infer

// Texts drawn a token at a time, many of them beside one another; with temperature 0 the likeliest token each
// time.
#pragma once

#include "core/workbench/infer/choose_token.h"
#include "core/workbench/infer/generated.h"
#include "core/workbench/infer/generation_speed.h"
#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

// Prompts of any lengths go through together, `request.batch` rows at a time; a prompt with several samples
// is read once for those of a batch. What a sample becomes depends on its prompt, the seed and its number
// alone, whatever stands beside it, but for what rounding does to logits. What `interrupted` leaves undone is
// empty. Adds to `speed`. Throws what the chooser throws.
GeneratedSamples sample_rows(GrowingRows& rows, const TokenChooser& chooser, const GenerationRequest& request,
                             const GenerationHooks& hooks, GenerationSpeed& speed);

}  // namespace switchyard::infer

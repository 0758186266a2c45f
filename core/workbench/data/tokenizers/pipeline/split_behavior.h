// What becomes of the delimiters when a text is split at them: "the-final--countdown" at '-' is
// removed: the final countdown;  isolated: the - final - - countdown;  merged_with_previous: the- final- -
// countdown;  merged_with_next: the -final - -countdown;  contiguous: the - final -- countdown.
#pragma once

#include <cstdint>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/text_parts.h"

namespace switchyard::data {

enum class SplitBehavior : std::uint8_t {
    removed,
    isolated,
    merged_with_previous,
    merged_with_next,
    contiguous
};

struct Stretch {
    std::size_t begin, end;
    bool delimiter;
};

// `stretches` cover the part in order; parts that are empty are left out. Changes `stretches`.
void split_part(const TextPart& part, std::vector<Stretch>& stretches, SplitBehavior behavior,
                std::vector<TextPart>& parts);

}  // namespace switchyard::data

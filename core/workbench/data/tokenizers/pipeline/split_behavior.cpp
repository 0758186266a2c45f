#include "core/workbench/data/tokenizers/pipeline/split_behavior.h"

#include <algorithm>

namespace switchyard::data {
namespace {

// Joins a stretch to the last one of `kept` where `joins` says so of it and of whether the one before was a
// delimiter.
template <class Joins>
std::size_t join_stretches(std::vector<Stretch>& stretches, const Joins& joins) {
    std::size_t kept = 0;
    bool previous = false;
    for (const auto stretch : stretches) {
        if (kept > 0 && joins(stretch.delimiter, previous))
            stretches[kept - 1].end = stretch.end;
        else
            stretches[kept++] = stretch;
        previous = stretch.delimiter;
    }
    return kept;
}

}  // namespace

void split_part(const TextPart& part, std::vector<Stretch>& stretches, SplitBehavior behavior,
                std::vector<TextPart>& parts) {
    const bool removes = behavior == SplitBehavior::removed;
    const auto turned = [&] {
        std::reverse(stretches.begin(), stretches.end());
        for (auto& [begin, end, delimiter] : stretches) std::swap(begin, end);
    };
    if (behavior == SplitBehavior::contiguous) {
        stretches.resize(join_stretches(stretches, [](bool now, bool before) { return now == before; }));
    } else if (behavior == SplitBehavior::merged_with_previous) {
        stretches.resize(join_stretches(stretches, [](bool now, bool before) { return now && !before; }));
    } else if (behavior == SplitBehavior::merged_with_next) {
        turned();
        stretches.resize(join_stretches(stretches, [](bool now, bool before) { return now && !before; }));
        turned();
    }
    for (const auto& [begin, end, delimiter] : stretches) {
        if (begin < end && !(removes && delimiter)) parts.push_back(part.part(begin, end));
    }
}

}  // namespace switchyard::data

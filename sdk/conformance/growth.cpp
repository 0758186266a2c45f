#include <switchyard/conformance/growth.h>

#include <algorithm>
#include <limits>

#include <malloc.h>

namespace switchyard::conformance {
namespace {

constexpr int stretches = 6;        // of which the first is left out
constexpr std::int64_t least = 16;  // bytes: what malloc gives at least

// Of all arenas, and what was too large for them.
std::int64_t allocated() {
    const auto all = mallinfo2();
    return static_cast<std::int64_t>(all.uordblks + all.hblkhd);
}

// The least that a stretch of so many calls kept, a call.
std::int64_t least_growth(const std::function<void()>& work, int calls) {
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    for (int stretch = 0; stretch < stretches; ++stretch) {
        const auto before = allocated();
        for (int call = 0; call < calls; ++call) work();
        if (stretch > 0) smallest = std::min(smallest, (allocated() - before) / calls);
        if (smallest < least) return 0;
    }
    return smallest;
}

}  // namespace

std::int64_t growth_of(const std::function<void()>& work) {
    // Blocks that were given back and wait in malloc's own lists count as taken, until these are full: what
    // seems to grow is looked at again, over more calls.
    const auto first = least_growth(work, 16);
    return first == 0 ? 0 : std::min(first, least_growth(work, 64));
}

}  // namespace switchyard::conformance

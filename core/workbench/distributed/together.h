// How ranks keep together over the store: they wait for each other, say of each what it said, and where one
// cannot go on all end, and one of them says why.
//
// Rank 0 speaks for all. It says what the ranks' own errors are, each once; where all that is known is that
// somebody is gone, it names those that left no word. The others are silent, unless there is no rank 0 that
// could speak.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/workbench/distributed/store.h"

namespace switchyard::distributed {

// Whoever serves the store is gone.
struct StoreGone : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Another rank is gone, has an error of its own, or does not answer: which, end_together finds out.
struct RankLost : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Place {
    std::int64_t rank = 0, world_size = 1;
};

// What each rank says at the meeting of that name, in the order of ranks, when the last one has come. Throws
// RankLost if one does not come within `seconds`, or ended before.
std::vector<std::string> meet(Store& store, const Place& place, const std::string& meeting,
                              const std::string& word, double seconds);

// What whoever waits at a meeting ends with from now on, unless a rank has ended already.
void tell_those_who_wait(Store& store, const std::string& why);

// Why a rank ends.
struct LastWords {
    std::string text;
    int code = 1;       // its exit code
    bool lost = false;  // others are missing; it has no error of its own
};

struct Ending {
    std::string text;  // for this rank to print; empty: another one does
    int code = 1;
};

// Leaves the last words where other ranks find them, hears theirs for at most `seconds`, and says how this
// process ends. Of two processes that are one rank the first one's words count. Throws nothing.
Ending end_together(Store& store, const Place& place, const LastWords& own, double seconds) noexcept;

}  // namespace switchyard::distributed

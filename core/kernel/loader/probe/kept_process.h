// A process whose descendants end with it, however they tried to get away: the keeper stays their parent by
// PR_SET_CHILD_SUBREAPER, also of those that called setsid or whose parents have ended, and kills them.
//
// This holds mistakes, no attackers: what runs in the kept process runs as the same user, and may kill the
// keeper (SECURITY.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace switchyard::loader {

struct ProcessLimits {
    // Memory that the process may write to, mapped or not (RLIMIT_DATA). Not its address space, of which CUDA
    // reserves terabytes. Not applied in builds with sanitizers, whose shadow memory counts.
    std::uint64_t memory_bytes = std::uint64_t{4} << 30;
    // Of all its threads together (RLIMIT_CPU).
    std::chrono::seconds processor_time{120};
};

// Returns in a new process with these limits, in a session of its own, without core dumps and without ways to
// more privileges. The caller becomes its keeper, and never returns: it ends as that process did, after it
// has killed what that process left behind; or, after SIGTERM, SIGINT or SIGHUP or once nobody reads from
// `report` any more, kills it first. To be called while there is one thread. An error in words is returned in
// the caller, which then is no keeper.
std::string continue_in_kept_process(const ProcessLimits& limits, int report);

}  // namespace switchyard::loader

// `switchyard launch` as tests run it, and the processes that it starts.
#pragma once

#include <vector>

#include <sys/types.h>

#include "processes.h"
#include "tiny_job.h"

namespace switchyard::test {

// "launch -n RANKS OPTIONS TRAIN".
Words launched(Words train, int ranks, const Words& options = {});

// Ranks that a launcher started and that live, in their order.
std::vector<pid_t> ranks_of(pid_t launcher);

bool has_checkpoint(const fs::path& run);

}  // namespace switchyard::test

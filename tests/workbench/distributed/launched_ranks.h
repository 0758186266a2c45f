// `switchyard launch` as tests run it, and the processes that it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
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

using Losses = std::map<std::int64_t, double>;  // by step
// Of the same steps, and relatively no farther apart than that.
void check_losses(const Losses& found, const Losses& expected, double allowed);

std::size_t count_of(const std::string& text, const std::string& part);

}  // namespace switchyard::test

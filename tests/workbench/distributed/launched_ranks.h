// `switchyard launch` as tests run it, and the processes that it starts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <sys/types.h>

#include <nlohmann/json.hpp>

#include "count_of.h"
#include "processes.h"
#include "tiny_job.h"

namespace switchyard::test {

// "launch -n RANKS OPTIONS TRAIN"; unless `train` says how long ranks wait for each other, none gives up.
Words launched(Words train, int ranks, const Words& options = {});

// Ranks that a launcher started and that live, in their order.
std::vector<pid_t> ranks_of(pid_t launcher);

bool has_checkpoint(const fs::path& run);

using Losses = std::map<std::int64_t, double>;  // by step
// Of the same steps, and relatively no farther apart than that.
void check_losses(const Losses& found, const Losses& expected, double allowed);

// Trains in a run of that name, launched or (one) alone, and checks that it went well.
void train_on(int ranks, const TinyJob& job, const std::string& name, const Words& sets,
              const Words& more = {});
nlohmann::json summary_of(const TinyJob& job, const std::string& name);
// All tensors of a checkpoint, whichever of its files they are in: their bytes, by what they are.
std::map<std::string, std::string> saved_tensors(const fs::path& checkpoint);
// Those of two runs' checkpoints of that step, "step-00000008", are the same bytes.
void check_same_checkpoints(const TinyJob& job, const std::string& a, const std::string& b,
                            const std::string& step);

// Trains adapters of the model of the run `base`, alone and on two ranks that divide it as `mesh` says, and
// checks that they learn and leave the same.
void check_adapts_alike(const TinyJob& job, const Words& sets, const Words& mesh, const std::string& base);

struct RefusedRanks {
    int ranks;
    Words sets;
    std::string text;  // of the error
};
// Each with `base`: told once, with exit code 2, and nothing is written.
void check_refused_ranks(const Words& base, const std::vector<RefusedRanks>& cases);
// Two ranks that train with these, of which the second is killed.
void check_all_end_when_one_is_killed(const Words& sets);

}  // namespace switchyard::test

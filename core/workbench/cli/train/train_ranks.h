// `switchyard train` as one of several ranks: which one the environment says. The first rank speaks, plans
// and writes for all; where one of them cannot go on, all end (core/workbench/distributed/together.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/kernel/config/config.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/distributed/environment.h"
#include "core/workbench/distributed/group.h"
#include "core/workbench/train/rank_facts.h"

namespace switchyard::cli {

class TrainRanks {
public:
    explicit TrainRanks(std::unique_ptr<distributed::Group> group) : group_(std::move(group)) {}

    bool is_first() const { return group_->rank() == 0; }
    std::int64_t count() const { return group_->world_size(); }
    distributed::Group& group() { return *group_; }

    // What the first rank says, `said` there; on the others it does not matter. No other meeting of the run
    // is called `what`, nor "facts 1", "facts 2" or "leaving".
    std::string from_first(const std::string& what, const std::string& said);
    // Throws Failure where ranks differ in the program or in `facts`. nullopt: this one cannot read what it
    // is to do, which it tells when it tries.
    void check_alike(std::optional<train::RankFacts> facts);
    // When all are done: the first one has written everything. It leaves last.
    void leave();

private:
    std::unique_ptr<distributed::Group> group_;
    std::int64_t checks_ = 0;
};

// Runs a training, as a rank where the environment makes this process one; nullptr: it is not. Returns the
// exit code.
int as_rank(const JobOptions& job, const std::function<int(TrainRanks*)>& train);

// Of the training that this process takes part in; 1: it trains alone.
std::int64_t ranks_on_this_machine();

}  // namespace switchyard::cli

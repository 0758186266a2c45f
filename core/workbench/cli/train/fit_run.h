// The search for the largest batch.size of a job whose training step stays within a memory. Each size runs in
// a process of its own, as an arm of a comparison does, so that one that needs too much ends by itself.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <switchyard/interfaces/host_info.h>
#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/temporary_folder.h"
#include "core/workbench/compare/fit/fit.h"

namespace CLI {
class App;
}

namespace switchyard::cli {

struct FitRequest {
    JobOptions job;
    std::string memory;           // as 16GB; empty: what the machine has left, or the device has
    std::string lengths;          // of random samples where the job has no data
    std::int64_t most = 1 << 20;  // samples of a batch
    std::int64_t steps = 3;       // that are timed of each size
    double timeout = 300.0;       // seconds that a size has to prepare, and for its steps
    double share = 1.0;           // of what the machine has left, that it may take where no memory is given
};

// --memory SIZE; `what` says of what.
void add_fit_memory(CLI::App& command, std::string& memory, const std::string& what);

class FitRun {
public:
    // Plans the job; what auto chooses serves all sizes. Throws Failure for all that is wrong with it.
    explicit FitRun(const FitRequest& request);

    // Shows progress. `stop`: ends it early.
    compare::FitResult search(const std::function<bool()>& stop);
    std::int64_t memory() const { return memory_; }

private:
    void limit_to_data(const config::Config& config);
    compare::FitSample try_size(std::int64_t size);
    compare::FitSample sample_of(std::int64_t size, const compare::ArmResult& arm);

    FitRequest request_;
    std::string most_is_ = "--most";  // what makes request_.most the most, in words
    HostInfo host_;
    std::int64_t memory_ = 0;
    bool any_fits_ = false;
    std::function<bool()> stop_;
    TemporaryFolder folder_;
    compare::ArmGuard guard_;
};

// A job whose batch.size is "fit", with the size that fits set. A run that goes on has the one of its
// `recorded` configuration (empty: it begins). Without `memory` it may take nine tenths of what there is: the
// rest is for evaluation, and for what else the machine does. As it is where batch.size is a number.
JobOptions with_fitting_batch(const JobOptions& job, const std::string& recorded, const std::string& memory);

}  // namespace switchyard::cli

// An arm that only computes forwards: passes over the same samples, put into batches as its configuration
// says.
#pragma once

#include <functional>
#include <vector>

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

class ForwardArm final : public ArmServer {
public:
    // As make_arm_server.
    ForwardArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
               const HostInfo& host, const ArmServerOptions& options);

private:
    std::vector<Group> shared_batches() override;
    // Of the first few samples, in their order however they stand in batches.
    First first() override;
    void run_one(Turn& turn) override;

    // An epoch of forwards; the mean loss.
    double pass(const runtime::DataLoaderOp& loader,
                const std::function<void(const Batch&, const model::TaskResult&)>& use);

    std::shared_ptr<const data::SampleList> samples_;
    const runtime::DataLoaderOp &loader_, &few_loader_;
};

}  // namespace switchyard::compare

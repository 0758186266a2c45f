// An arm that only puts samples into batches: its data loader, and nothing of the model.
#pragma once

#include <vector>

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

class DataArm final : public ArmServer {
public:
    // As make_arm_server.
    DataArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
            const HostInfo& host, const ArmServerOptions& options);

private:
    std::vector<Group> shared_batches() override { return {}; }
    // The tokens of the first few samples, in their order however they stand in batches, as outputs.
    First first() override;
    void run_one(Turn& turn) override;

    std::shared_ptr<const data::SampleList> samples_;
    const runtime::DataLoaderOp* loader_ = nullptr;
};

}  // namespace switchyard::compare

// An arm that trains, for as many steps or epochs as the coordinator asks for.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

class TrainingArm final : public ArmServer {
public:
    // As make_arm_server.
    TrainingArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                const HostInfo& host, const ArmServerOptions& options);

    bool observes() const override;
    profile::ObservedStep observe() override;
    std::string not_evaluated() const override;
    Evaluation evaluate() override;

private:
    std::vector<Group> shared_batches() override { return kept_; }
    Group evaluation_batches() override;
    First first() override;
    void run_one(Turn& turn) override;

    at::Tensor first_logits(const model::ForwardContext& context, const Batch& batch, const LossParams& loss);
    train::Trainer make_trainer();
    Group next_group();
    void run_epoch(Turn& turn);

    std::int64_t epoch_samples_ = 0;  // of Operation::epoch
    train::Trainer trainer_;
    std::vector<Group> kept_;
    std::size_t next_ = 0;
};

}  // namespace switchyard::compare

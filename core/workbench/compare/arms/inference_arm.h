// An arm that only infers: passes over batches of random tokens, a forward each, or a generation after
// them; or a generation after prompts of the job, in batches of its own size.
#pragma once

#include <vector>

#include "core/workbench/compare/arms/arm_server.h"
#include "core/workbench/compare/arms/grown_rows.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

class InferenceArm final : public ArmServer {
public:
    // As make_arm_server, with workloads. Sequences are a function of run.seed, the model's vocabulary, the
    // job's data and the workloads alone: the same in all arms.
    InferenceArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                 const HostInfo& host, const ArmServerOptions& options);

    void choose(std::size_t workload) override;
    Generation generate(std::int64_t passes) override;

private:
    // The sequences of each workload, in the layout of this arm; and as prompts, by the batches in which they
    // are read.
    struct Inputs {
        Batch batch;
        std::vector<std::vector<infer::Beginning>> prompts;
    };

    std::vector<Group> shared_batches() override;
    // What the first workload's sequences come to: logits of what follows them, or of the task. Of a
    // generation also what follows the first prompts as they grow by tokens that are the same in all arms:
    // one that is written otherwise would make all that comes after it differ.
    First first() override;
    void run_one(Turn& turn) override;
    std::int64_t row_bytes() const override;

    Inputs inputs_of(const Workload& workload, std::uint64_t seed) const;
    data::SampleList sequences(const Workload& workload, std::uint64_t seed) const;
    First first_tokens();
    at::Tensor forward(const Batch& batch) const;
    void begin_rows();
    void generate_one(Generation& generation);
    at::Tensor write_after(const std::vector<infer::Beginning>& prompts, Generation& generation);
    std::int64_t read_bytes();

    std::vector<Inputs> inputs_;
    std::size_t chosen_ = 0;
    GrownRows grown_;  // of Operation::generate, for the workload that is chosen
};

}  // namespace switchyard::compare

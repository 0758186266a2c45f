// One rank's part in the steps of several: their batches of one step are one batch, which one process could
// have had.
//
// Gradients are sums: each rank's loss is divided by the labels of all ranks, whoever has more of them. A
// sequence has the number that it has in the whole batch, micro-batch after micro-batch and in each rank
// after rank, so that dropout drops what one process would drop. What only fills up the last batch of an
// epoch counts nothing. Ranks that have parts of one model (model_parts.h) have the same batches, which count
// once, on the rank that has their loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/config/config.h"
#include "core/workbench/distributed/group.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/work.h"

namespace switchyard::train {

// Seconds that ranks wait for one that reads weights, writes a checkpoint or evaluates its part.
inline constexpr double long_wait_seconds = 3600.0;

// What a step is on all ranks together.
struct SharedStep {
    std::int64_t labels = 0, samples = 0, tokens = 0;
    model::Work work;
    std::vector<std::int64_t> first_documents;  // of each of this rank's micro-batches
    bool save_is_due = false;                   // by the clock of one of them
};

class DataParallel {
public:
    // Throws base::InputError where ranks do not have the same parameters. What is handed in outlives it.
    DataParallel(distributed::Mesh& mesh, const config::Config& config, const model::Parameters& parameters);

    bool is_first() const { return mesh_.world().rank() == 0; }
    // On every group's learning rate.
    double lr_factor() const;

    // Of LibTorch's generator, for components that drop what it says: another one for each rank and step, so
    // that a resumed run draws the same again although its checkpoint has rank 0's generator alone.
    std::uint64_t seed_of_step(std::int64_t step) const;

    // What this rank brings to a step.
    struct Own {
        const std::vector<Batch>& batches;
        std::int64_t repeated = 0;  // samples that only fill them up
        bool stop = false;          // it was asked to
        bool save_is_due = false;   // by its clock
    };
    // Before each step, on all ranks. nullopt: one of them was asked to stop.
    std::optional<SharedStep> agree(const Own& own);
    // Where each rank has all parameters. Adds to the gradients; those of the step's `last` micro-batch are
    // sums over the ranks that have other batches. Throws RankLost where one of them is gone.
    using Backward = std::function<void()>;
    void backward(const Backward& run, bool last);
    // Over all batches.
    double sum(double value);
    // nullopt: no step was recorded.
    std::optional<distributed::Communication> communication() const { return communication_.so_far(); }
    // What the first rank says, when it has done what the others wait for.
    std::string from_first(const std::string& what, const std::string& said);

private:
    distributed::Mesh& mesh_;
    const config::Config& config_;
    // nullptr: they are divided (parameter_shards.h), or there are none, or nobody has other batches.
    std::unique_ptr<distributed::GradientSum> gradients_;
    distributed::CommunicationRecord communication_;
    std::int64_t meetings_ = 0;
};

// What a configuration asks for that several ranks cannot do, a line for each; empty: nothing.
std::vector<std::string> rank_problems(const config::Config& config);

// Labels of the last samples count nothing any more.
void ignore_last(Batch& batch, std::int64_t samples, std::int64_t ignore_index);

// Of all ranks, in their order.
std::vector<std::string> gather_texts(distributed::Group& group, const std::string& text);

}  // namespace switchyard::train

// The optimizer's step shared by ranks (ZeRO-1, Rajbhandari et al. 2020, arXiv:1910.02054): each keeps the
// state, and the float32 masters, of a part of the values (shard_layout.h), steps these, and hands them to
// the others. All ranks have all parameters and all gradients, or these are divided as well
// (parameter_shards.h). Where ranks have parts of a model (model_parts.h), those that have the same part
// divide it.
//
// With an optimizer that steps values alone parameters are the same bits as where every rank steps all of
// them; with clipping as far as the norm is, which is summed up part by part here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <switchyard/interfaces/optimizer.h>
#include <switchyard/interfaces/sharded_optimizer.h>
#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/optimizer_op.h"
#include "core/workbench/distributed/group.h"
#include "core/workbench/train/gathered_entries.h"
#include "core/workbench/train/model_parts.h"
#include "core/workbench/train/norm_over_ranks.h"
#include "core/workbench/train/parameter_shards.h"
#include "core/workbench/train/shard_layout.h"

namespace switchyard::train {

class OptimizerShards {
public:
    // Binds the optimizer to this rank's part of `groups`, whose masters move here. Throws base::InputError
    // where the component steps whole models only, or there is nothing for a rank. What is handed in outlives
    // it. `parameters`: where they are divided; nullptr: each rank has them all. `model`: of which the ranks
    // of `group` have the same part; nullptr: they have all of it.
    OptimizerShards(distributed::Group& group, const config::Config& config,
                    const runtime::OptimizerOp& optimizer, std::vector<ParameterGroup>& groups,
                    ParameterShards* parameters = nullptr, const ModelParts* model = nullptr);

    // On all ranks: nonfinite_gradients (nonfinite.h) of what they have together.
    std::string nonfinite(const std::vector<ParameterGroup>& groups);

    // On all ranks, of `groups` with their gradients: all parameters are stepped, or on no rank any is.
    StepResult step(const std::vector<ParameterGroup>& groups, const StepParams& params);

    // Of this rank's part alone.
    OptimizerState state() const { return optimizer_.state(); }
    std::map<std::string, at::Tensor> masters() const;

    // On all ranks: what one rank that steps everything has, of the parameters that `to` gives to this one.
    OptimizerState gather_state(const EntryReceiver& to);
    std::map<std::string, at::Tensor> gather_masters(const EntryReceiver& to);

    // Takes this rank's part of what one rank that steps everything has. Throws std::invalid_argument for
    // what does not fit.
    void load(const OptimizerState& whole, const std::map<std::string, at::Tensor>& masters);

private:
    struct Whole {
        std::string name;
        at::Tensor value;         // of the parameter, without its gradient
        std::int64_t number = 0;  // in ModelParts::all(), where there are parts
    };
    using Entries = std::vector<OptimizerStateEntry>;

    void bind_own(std::vector<ParameterGroup>& groups);
    void take_gradients(const std::vector<ParameterGroup>& groups);
    bool counts(std::int64_t index) const;
    double squares() const;
    void hand_round();
    Entries gather(const Entries& own, const EntryReceiver& to);
    at::Tensor joined(const std::string& parameter, const std::vector<at::Tensor>& parts) const;
    at::Tensor own_part(const Whole& parameter, const ParameterPart& part, const at::Tensor& entry) const;
    const Whole* find(const std::string& name) const;

    distributed::Group& group_;
    const runtime::OptimizerOp& optimizer_;
    ParameterShards* parameters_;
    const ModelParts* model_;
    std::size_t most_bytes_;  // of values that are handed round at once
    std::int64_t alignment_ = 0;
    std::vector<Whole> whole_;          // all that are trained, in the order of the groups
    std::vector<Shard> shards_;         // of all ranks
    std::vector<ParameterGroup> own_;   // what the optimizer is bound to
    std::vector<ParameterPart> parts_;  // of its parameters
    std::int64_t gathers_ = 0;
    std::vector<std::size_t> group_of_;  // of each of own_ in the whole model's groups
};

}  // namespace switchyard::train

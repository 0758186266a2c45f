// Parameters and gradients divided over ranks (ZeRO-3, Rajbhandari et al. 2020, arXiv:1910.02054; Zhao et al.
// 2023, "PyTorch FSDP", arXiv:2304.11277): each rank keeps a piece of every unit (shard_units.h). A unit's
// parameters are gathered before its layer runs, while the layer before it still does, and let go after it;
// once more in backward, where their gradients are summed up piece by piece as soon as they are there. The
// root's are there for a whole step or evaluation.
//
// Parameters stay the leaves that they are: between steps they have sizes and no memory, and what forward
// kept of them for backward has none as long as they have none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/config.h"
#include "core/kernel/runtime/operations/step_weights.h"
#include "core/workbench/distributed/group.h"
#include "core/workbench/model/layer_parameters.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/shard_units.h"

namespace switchyard::train {

class ParameterShards final : public model::LayerParameters {
public:
    // Of what a rank keeps between steps, and of gradients at a step's end. Bytes.
    struct Kept {
        std::int64_t parameters = 0, gradients = 0;
    };

    // Parameters stay whole until the first pass. `weights`: where forms of them are kept. What is handed in
    // outlives it.
    ParameterShards(distributed::Group& group, const config::Config& config, model::Parameters& parameters,
                    std::int64_t alignment, std::shared_ptr<runtime::StepWeights> weights);

    // Of the parameters that are trained, each with its place in `names`, in the order of memory.
    std::vector<Shard> shards_of(const std::vector<std::string>& names) const;
    // This rank's part that begins there: values, and the sum of the gradients of a step so far, undefined if
    // there is none.
    at::Tensor value(const std::string& parameter, std::int64_t begin) const;
    at::Tensor gradient(const std::string& parameter, std::int64_t begin) const;
    void drop_gradients();
    // On all ranks: the gradients of a step so far, whole and by the number of their parameters; undefined
    // where there is none.
    std::vector<at::Tensor> whole_gradients();

    // Around passes, on all ranks. `training`: each is forward and backward.
    void begin_passes(bool training);
    void end_passes();
    // Whether any rank has a pass to make. Those that have none make `pass_along` instead.
    bool any(bool own);
    void pass_along();
    // Throws RankLost where another rank is gone.
    void backward(const std::function<void()>& run, bool last);

    // On all ranks: whole parameters, until `divide` or the next pass.
    void gather_all();
    // On all ranks: copies of those of some parameters, for which no rank has more than one unit whole.
    model::Parameters gathered(const std::function<bool(const std::string& parameter)>& wanted);
    // From whole parameters to pieces.
    void divide();
    // Memory of whole parameters, whose values are set next: they are what is divided then.
    void expect_values();
    Kept kept() const { return kept_; }

    void before_forward(const config::LayerId& layer) override;
    void after_forward(const config::LayerId& layer) override;
    void before_backward(const config::LayerId& layer) override;
    void after_backward(const config::LayerId& layer) override;

private:
    struct Unit {
        ShardUnit layout;
        at::Tensor own;       // this rank's piece
        at::Tensor gradient;  // of it, of the step so far
        at::Tensor arriving;  // the whole unit, being gathered
        std::unique_ptr<distributed::Transfer> gathering;
        bool is_there = false;
        bool in_backward = false;
    };
    struct Place {
        std::size_t unit = 0;
        const ShardUnit::Part* part = nullptr;
    };
    struct Sum {
        Unit* unit = nullptr;
        at::Tensor all, own;
        std::unique_ptr<distributed::Transfer> summing;
    };

    Unit& root() { return units_.back(); }
    std::size_t number_of(const config::LayerId& layer) const;
    void after_backward(Unit& unit);
    const Place& place_of(const std::string& parameter, std::int64_t begin) const;
    const at::Tensor& value_of(std::size_t parameter) const { return parameters_.all()[parameter].value; }
    void start(Unit& unit);
    void arrive(Unit& unit);
    void raise_versions();
    void free(Unit& unit);
    void begin_sum(Unit& unit);
    void end_sum();
    void measure();

    distributed::Group& group_;
    model::Parameters& parameters_;
    std::shared_ptr<runtime::StepWeights> weights_;
    bool as_bfloat16_;
    std::vector<Unit> units_;
    std::map<std::string, std::vector<Place>> own_;  // parts of this rank, by parameter
    bool whole_ = true;                              // parameters are what counts, and not the pieces
    bool training_ = false;                          // backward follows
    bool lost_ = false;                              // another rank, as a transfer told
    Sum sum_;                                        // that is on its way
    Kept kept_;
};

}  // namespace switchyard::train

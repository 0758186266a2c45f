// A model of which ranks have a part each (tensor parallel; Shoeybi et al. 2019, arXiv:1909.08053), and the
// whole that their parts are: what is read and written is whole, so that any number of ranks goes on from it.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "core/workbench/distributed/group.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

class ModelParts final : public model::TensorRanks {
public:
    // `ranks`: those that have the other parts. Both outlive it.
    ModelParts(distributed::Group& ranks, model::Parameters& parameters)
        : ranks_(ranks), parameters_(parameters) {}

    void sum(at::Tensor& tensor) override;
    at::Tensor joined(const at::Tensor& part) override;
    // Whether a sum found another rank gone, of which what backward throws may not tell.
    bool lost() const { return lost_; }
    distributed::Group& ranks() const { return ranks_; }

    // On all ranks: all parameters, whole, as copies, on those that keep them; the others get none.
    model::Parameters whole(bool keep = true) const;
    // This rank's part of them.
    void take(const model::Parameters& whole);

    // On all ranks: state of all parts as one process would have it, where it is kept, and back. The latter
    // throws std::invalid_argument for what does not fit.
    TrainingState whole(TrainingState own, bool keep) const;
    TrainingState own(TrainingState whole) const;

    // Values of all parameters together.
    std::int64_t whole_bytes() const;

private:
    using Tensors = std::map<std::string, at::Tensor>;

    at::Tensor joined(const model::ParameterCut& cut, const at::Tensor& own, bool keep) const;
    void join(Tensors& tensors, bool keep) const;
    void cut(Tensors& tensors) const;
    // Of an entry that has a value for each value of its parameter; nullptr: it is the same on all ranks.
    const model::ParameterCut* cut_of(const std::string& parameter, at::IntArrayRef sizes, bool whole) const;

    distributed::Group& ranks_;
    model::Parameters& parameters_;
    bool lost_ = false;
};

}  // namespace switchyard::train

// A model of which ranks have a part each - of each layer (tensor parallel; Shoeybi et al. 2019,
// arXiv:1909.08053), or a range of the layers (core/workbench/model/pipeline_stage.h) - and the whole that
// their parts are: what is read and written is whole, so that any number of ranks goes on from it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/kernel/config/config.h"
#include "core/workbench/distributed/mesh.h"
#include "core/workbench/model/describer.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/model/tensor_ranks.h"
#include "core/workbench/train/checkpoint_part.h"
#include "core/workbench/train/nonfinite.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

class ModelParts final : public model::TensorRanks {
public:
    // On all ranks of `mesh`, which has a model() group. All three outlive it. `steps_wholes`: of what is cut
    // one rank steps each parameter, whole (stepped_wholes.h).
    ModelParts(distributed::Mesh& mesh, const config::Config& config, model::Parameters& parameters,
               bool steps_wholes);

    void sum(at::Tensor& tensor) override;
    at::Tensor joined(const at::Tensor& part) override;
    void gather_pieces(const at::Tensor& own, const at::Tensor& all,
                       const std::vector<std::int64_t>& sizes) override;
    void sum_pieces(const at::Tensor& all, const at::Tensor& own,
                    const std::vector<std::int64_t>& sizes) override;
    // Itself, for forward passes, where layers are cut; nullptr: they are whole.
    model::TensorRanks* tensor_ranks() { return mesh_.tensor() != nullptr ? this : nullptr; }
    // Whether a sum found another rank gone, of which what backward throws may not tell.
    bool lost() const { return lost_; }
    distributed::Mesh& mesh() const { return mesh_; }

    // All parameters of the whole model, in its order.
    struct WholeParameter {
        std::string name;
        std::vector<std::int64_t> sizes;
        std::vector<std::int64_t> stages;  // that have it
    };
    const std::vector<WholeParameter>& all() const { return all_; }
    std::int64_t number_of(const std::string& parameter) const;  // in all()
    // "stage 0 part 1": which ranks that have the same share, for what they say to each other by name.
    std::string own_place() const;
    // Whether this rank's values of a parameter are counted: of ranks that have the same of a model, one's.
    bool counts(const WholeParameter& parameter) const;
    // What nonfinite_over_ranks.h takes.
    std::vector<GradientFinding> nothing_found() const;

    // How ranks have parts of it; nullptr: it is whole on all.
    const model::ParameterCut* cut_of(const std::string& parameter) const;
    bool steps_wholes() const { return steps_wholes_; }
    // With steps_wholes(), of the ranks that have the parts of one that is cut: who steps it, and whether
    // this rank does.
    std::int64_t stepper(const std::string& parameter) const { return steppers_.at(parameter); }
    bool steps(const std::string& parameter) const;

    // On all ranks, after a step's last backward: the gradients of what all have and each makes a part of
    // (low_rank.h) become their sums.
    void sum_partial_gradients();

    // On all ranks: all parameters, whole, as copies.
    model::Parameters whole() const;
    // On all ranks: the same of what stands beside each parameter of this rank, in its order, such as
    // gradients in float32; what is undefined where the parameter is stays so. In the order of all().
    std::vector<at::Tensor> whole(const std::vector<at::Tensor>& own) const;
    // This rank's part of them.
    void take(const model::Parameters& whole);
    // On all ranks: of those of all layers, cut as this rank's are, what the stages have.
    void take_of_stages(model::Parameters& layers) const;

    // What a checkpoint has is written by the ranks that have the first batches, each parameter whole by one
    // of them, with its state.
    CheckpointPart checkpoint_part() const;
    // On all ranks: what this one writes.
    model::Parameters written_parameters() const;
    TrainingState written(TrainingState own) const;
    // This rank's part of the state of a whole model. Throws std::invalid_argument for what does not fit.
    TrainingState own(TrainingState whole) const;

    // Values of all parameters together.
    std::int64_t whole_bytes() const;

private:
    using Tensors = std::map<std::string, at::Tensor>;

    template <class Together>
    auto watched(const Together& together);
    at::Tensor joined(const model::ParameterCut& cut, const at::Tensor& own, bool keep) const;
    at::Tensor whole_of(const WholeParameter& parameter, const at::Tensor& own,
                        const at::TensorOptions& options) const;
    bool writes(const std::string& parameter) const;
    void join_written(Tensors& tensors) const;
    void cut(Tensors& tensors) const;
    void choose_steppers();
    // Of those that have a parameter, or a state named after one, the first.
    bool is_first_with(const std::string& name) const;
    // Of an entry that has a value for each value of its parameter; nullptr: it is the same on all ranks.
    const model::ParameterCut* cut_of(const std::string& parameter, at::IntArrayRef sizes, bool whole) const;

    distributed::Mesh& mesh_;
    const config::Config& config_;
    model::Parameters& parameters_;
    std::vector<WholeParameter> all_;
    bool steps_wholes_;
    std::map<std::string, std::int64_t> steppers_;  // of what is cut; they write it too
    bool lost_ = false;
};

}  // namespace switchyard::train

// Ranks as a grid: those that share batches, and among those that have the same batches the ones that have a
// part of each layer each, or a range of the layers. Neighbours share layers, since they talk most, and
// stages are furthest apart, since they talk least: rank = (stage * data ranks + data) * tensor ranks +
// tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/kernel/config/distributed_config.h"
#include "core/workbench/distributed/group.h"

namespace switchyard::distributed {

// The part of layers, and the range of them, that a rank has.
config::LayerPart layer_part(const config::MeshConfig& mesh, const Place& place);
config::LayerPart layer_stage(const config::MeshConfig& mesh, const Place& place);

class Mesh {
public:
    // On all ranks of `world`, which outlives it.
    Mesh(Group& world, const config::MeshConfig& mesh);

    Group& world() const { return world_; }
    // Ranks that have the same part of the model and other batches; nullptr: there are none.
    Group* data() const { return is_only(data_ranks_) ? &world_ : data_.get(); }
    // Ranks that have the same batches and other parts of the same layers; nullptr: layers are whole.
    Group* tensor() const { return is_only(tensor_ranks_) ? &world_ : tensor_.get(); }
    // Ranks that have the same batches and other layers, in the order of layers; nullptr: there are none.
    Group* pipeline() const { return is_only(stages_) ? &world_ : pipeline_.get(); }
    // All that have the same batches, and with them a model together; nullptr: each has a whole one.
    Group* model() const;

    // Groups of ranks that have batches of their own, and which one this rank is in.
    std::int64_t data_ranks() const { return data_ranks_; }
    std::int64_t data_index() const { return data_index_of(world_.rank()); }
    std::int64_t data_index_of(std::int64_t rank) const { return rank / tensor_ranks_ % data_ranks_; }
    // Of those that have the same batches one is asked, which has what the model makes of them.
    bool speaks_for_batches(std::int64_t rank) const {
        return tensor_index_of(rank) == 0 && stage_of(rank) + 1 == stages_;
    }
    std::int64_t tensor_ranks() const { return tensor_ranks_; }
    std::int64_t tensor_index_of(std::int64_t rank) const { return rank % tensor_ranks_; }
    std::int64_t stages() const { return stages_; }
    std::int64_t stage() const { return stage_of(world_.rank()); }
    std::int64_t stage_of(std::int64_t rank) const { return rank / (tensor_ranks_ * data_ranks_); }
    // The one like this in that stage.
    std::int64_t rank_in_stage(std::int64_t stage) const {
        return world_.rank() + (stage - this->stage()) * tensor_ranks_ * data_ranks_;
    }

private:
    // Whether the ranks along one side of the grid are all that there are, of more than one.
    bool is_only(std::int64_t ranks) const { return ranks > 1 && ranks == world_.world_size(); }
    // Of those that are like this one in all but one way; nullptr: itself alone, or all.
    template <class Like>
    std::unique_ptr<Group> among(const Like& like, const std::string& name) const;

    Group& world_;
    std::int64_t tensor_ranks_, stages_, data_ranks_;
    std::unique_ptr<Group> data_, tensor_, pipeline_, model_;
};

}  // namespace switchyard::distributed

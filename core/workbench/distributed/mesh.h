// Ranks as a grid: those that share batches, and among those that have the same batches the ones that have a
// part of each layer each. Neighbours share layers, since they talk most: rank = data * tensor ranks +
// tensor.
#pragma once

#include <cstdint>
#include <memory>

#include "core/kernel/config/distributed_config.h"
#include "core/workbench/distributed/group.h"

namespace switchyard::distributed {

// The part of layers that a rank has.
config::LayerPart layer_part(const config::MeshConfig& mesh, const Place& place);

class Mesh {
public:
    // On all ranks of `world`, which outlives it.
    Mesh(Group& world, const config::MeshConfig& mesh);

    Group& world() const { return world_; }
    // Ranks that have the same part of the layers and other batches; nullptr: there are none.
    Group* data() const { return tensor_ranks_ == 1 ? &world_ : data_.get(); }
    // Ranks that have the same batches and other parts of the layers; nullptr: layers are whole.
    Group* tensor() const { return tensor_.get(); }

    // Groups of ranks that have batches of their own, and which one this rank is in.
    std::int64_t data_ranks() const { return world_.world_size() / tensor_ranks_; }
    std::int64_t data_index() const { return data_index_of(world_.rank()); }
    std::int64_t data_index_of(std::int64_t rank) const { return rank / tensor_ranks_; }
    // Of those that have the same batches one is asked.
    bool speaks_for_batches(std::int64_t rank) const { return rank % tensor_ranks_ == 0; }
    std::int64_t tensor_ranks() const { return tensor_ranks_; }

private:
    Group& world_;
    std::int64_t tensor_ranks_;
    std::unique_ptr<Group> data_, tensor_;
};

}  // namespace switchyard::distributed

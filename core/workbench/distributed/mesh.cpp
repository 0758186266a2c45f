#include "core/workbench/distributed/mesh.h"

#include <string>
#include <vector>

namespace switchyard::distributed {

config::LayerPart layer_part(const config::MeshConfig& mesh, const Place& place) {
    return {place.rank % mesh.tensor, mesh.tensor};
}

Mesh::Mesh(Group& world, const config::MeshConfig& mesh) : world_(world), tensor_ranks_(mesh.tensor) {
    if (tensor_ranks_ == 1) return;
    const auto index = world.rank() % tensor_ranks_;
    std::vector<std::int64_t> layers, batches;
    for (std::int64_t rank = 0; rank < world.world_size(); ++rank) {
        if (data_index_of(rank) == data_index()) layers.push_back(rank);
        if (rank % tensor_ranks_ == index) batches.push_back(rank);
    }
    tensor_ = world.among(layers, "tensor " + std::to_string(data_index()));
    if (batches.size() > 1) data_ = world.among(batches, "data " + std::to_string(index));
}

}  // namespace switchyard::distributed

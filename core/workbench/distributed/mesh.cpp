#include "core/workbench/distributed/mesh.h"

#include <vector>

namespace switchyard::distributed {

std::string mesh_problem(const config::MeshConfig& mesh, std::int64_t ranks) {
    const auto number = [](std::int64_t value) { return std::to_string(value); };
    const auto there_are =
        ", and there " + std::string(ranks == 1 ? "is 1 rank" : "are " + number(ranks) + " ranks");
    const auto layers = mesh.tensor * mesh.pipeline;
    if (mesh.data == 0) {
        if (ranks % layers == 0) return "";
        return "each " + number(layers) + " ranks have a model together" + there_are +
               "; expected a multiple of " + number(layers) + " ranks, as with `switchyard launch -n " +
               number(layers) + "`";
    }
    const auto all = mesh.data * layers;
    if (all == ranks) return "";
    return number(mesh.data) + " (data) x " + number(mesh.tensor) + " (tensor) x " + number(mesh.pipeline) +
           " (pipeline) are " + number(all) + there_are +
           "; expected the same number, as with `switchyard launch -n " + number(all) + "`";
}

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

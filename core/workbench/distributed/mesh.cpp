#include "core/workbench/distributed/mesh.h"

#include <string>
#include <vector>

namespace switchyard::distributed {

config::LayerPart layer_part(const config::MeshConfig& mesh, const Place& place) {
    return {place.rank % mesh.tensor, mesh.tensor};
}

config::LayerPart layer_stage(const config::MeshConfig& mesh, const Place& place) {
    return {place.rank / (place.world_size / mesh.pipeline), mesh.pipeline};
}

Mesh::Mesh(Group& world, const config::MeshConfig& mesh)
    : world_(world),
      tensor_ranks_(mesh.tensor),
      stages_(mesh.pipeline),
      data_ranks_(world.world_size() / (mesh.tensor * mesh.pipeline)) {
    const auto part = tensor_index_of(world.rank()), batches = data_index(), layers = stage();
    const auto text = [](std::int64_t number) { return std::to_string(number); };
    tensor_ =
        among([&](std::int64_t rank) { return data_index_of(rank) == batches && stage_of(rank) == layers; },
              "tensor " + text(layers) + " " + text(batches));
    data_ =
        among([&](std::int64_t rank) { return tensor_index_of(rank) == part && stage_of(rank) == layers; },
              "data " + text(layers) + " " + text(part));
    pipeline_ = among(
        [&](std::int64_t rank) { return tensor_index_of(rank) == part && data_index_of(rank) == batches; },
        "pipeline " + text(batches) + " " + text(part));
    if (tensor_ranks_ > 1 && stages_ > 1)
        model_ = among([&](std::int64_t rank) { return data_index_of(rank) == batches; },
                       "model " + text(batches));
}

template <class Like>
std::unique_ptr<Group> Mesh::among(const Like& like, const std::string& name) const {
    std::vector<std::int64_t> ranks;
    for (std::int64_t rank = 0; rank < world_.world_size(); ++rank)
        if (like(rank)) ranks.push_back(rank);
    const auto count = static_cast<std::int64_t>(ranks.size());
    return count == 1 || count == world_.world_size() ? nullptr : world_.among(ranks, name);
}

Group* Mesh::model() const {
    if (is_only(tensor_ranks_ * stages_)) return &world_;
    if (stages_ == 1) return tensor();
    return tensor_ranks_ == 1 ? pipeline() : model_.get();
}

}  // namespace switchyard::distributed

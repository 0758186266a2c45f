// What is gathered at once where parameters are divided over ranks: the matrices of one layer. All others are
// the root: embeddings, heads, and every vector, since the normalization after a layer may be what adds its
// last bias (Stack::keeps_bias).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/model/parameters.h"
#include "core/workbench/train/shard_layout.h"

namespace switchyard::train {

// A rank's piece of a unit is its parts end to end, those that are trained first. Pieces of all ranks end to
// end are the unit, or with what is trained of each its gradients.
struct ShardUnit {
    struct Part {
        Shard values;             // of a parameter, by its number in the model
        std::int64_t offset = 0;  // in the piece of its rank
        bool trained = true;
    };
    std::optional<config::LayerId> layer;  // none: the root
    std::vector<std::size_t> parameters;
    std::vector<Part> parts;
    std::vector<std::int64_t> sizes, trained_sizes;  // of the pieces, by rank

    std::int64_t begin_of(std::int64_t rank) const;          // of its piece, in the unit
    std::int64_t trained_begin_of(std::int64_t rank) const;  // likewise, in its gradients
    std::int64_t all() const { return begin_of(static_cast<std::int64_t>(sizes.size())); }
    std::int64_t all_trained() const {
        return trained_begin_of(static_cast<std::int64_t>(trained_sizes.size()));
    }
};

// In the order in which forward uses them; the root is the last. `alignment`: divide_over_ranks.
std::vector<ShardUnit> shard_units(const config::Config& config, const model::Parameters& parameters,
                                   std::int64_t ranks, std::int64_t alignment);

}  // namespace switchyard::train

#include "core/workbench/train/shard_units.h"

#include <algorithm>
#include <numeric>
#include <string>

#include <switchyard/interfaces/sharded_optimizer.h>

namespace switchyard::train {
namespace {

using Numbers = std::vector<std::size_t>;

std::vector<ShardUnit> without_parts(const config::Config& config, const model::Parameters& parameters) {
    std::vector<ShardUnit> units;
    std::vector<bool> taken(parameters.all().size(), false);
    for (const auto stack : {config::Stack::encoder, config::Stack::decoder}) {
        if (!config.model.has(stack)) continue;
        for (std::int64_t index = 0; index < config.model.layers_of(stack); ++index) {
            ShardUnit unit;
            unit.layer = config::LayerId{stack, index};
            const auto prefix = config::to_string(*unit.layer) + ".";
            for (std::size_t i = 0; i < taken.size(); ++i) {
                const auto& parameter = parameters.all()[i];
                if (parameter.value.dim() < 2 || !parameter.name.starts_with(prefix)) continue;
                unit.parameters.push_back(i);
                taken[i] = true;
            }
            units.push_back(std::move(unit));
        }
    }
    ShardUnit root;
    for (std::size_t i = 0; i < taken.size(); ++i)
        if (!taken[i]) root.parameters.push_back(i);
    units.push_back(std::move(root));
    return units;
}

// Of those parameters, in the order of ranks.
std::vector<Shard> divided(const model::Parameters& parameters, const Numbers& numbers, std::int64_t ranks,
                           std::int64_t alignment) {
    std::vector<std::int64_t> sizes;
    for (const auto number : numbers) sizes.push_back(parameters.all()[number].value.numel());
    auto shards = divide_over_ranks(sizes, ranks, alignment);
    std::erase_if(shards, [](const Shard& shard) { return shard.count == 0; });
    std::ranges::stable_sort(shards, {}, &Shard::rank);
    for (auto& shard : shards) shard.parameter = numbers[shard.parameter];
    return shards;
}

void add(ShardUnit& unit, const std::vector<Shard>& shards, bool trained) {
    for (const auto& shard : shards) {
        auto& size = unit.sizes[static_cast<std::size_t>(shard.rank)];
        unit.parts.push_back({shard, size, trained});
        size += shard.count;
    }
}

}  // namespace

std::int64_t ShardUnit::begin_of(std::int64_t rank) const {
    return std::accumulate(sizes.begin(), sizes.begin() + rank, std::int64_t{0});
}

std::int64_t ShardUnit::trained_begin_of(std::int64_t rank) const {
    return std::accumulate(trained_sizes.begin(), trained_sizes.begin() + rank, std::int64_t{0});
}

std::vector<ShardUnit> shard_units(const config::Config& config, const model::Parameters& parameters,
                                   std::int64_t ranks, std::int64_t alignment) {
    auto units = without_parts(config, parameters);
    const auto is_trained = [&](std::size_t number) {
        return parameters.all()[number].value.requires_grad();
    };
    // Those that cannot be cut are divided over the whole model: of one layer alone they would not be even.
    std::vector<Shard> uncut;
    if (alignment == 0) {
        Numbers trained;
        for (std::size_t i = 0; i < parameters.all().size(); ++i)
            if (is_trained(i)) trained.push_back(i);
        uncut = divided(parameters, trained, ranks, 0);
    }
    for (auto& unit : units) {
        unit.sizes.resize(static_cast<std::size_t>(ranks));
        Numbers trained, frozen;
        for (const auto number : unit.parameters) (is_trained(number) ? trained : frozen).push_back(number);
        if (alignment == 0) {
            auto own = uncut;
            std::erase_if(own, [&](const Shard& shard) {
                return std::ranges::find(trained, shard.parameter) == trained.end();
            });
            add(unit, own, true);
        } else {
            add(unit, divided(parameters, trained, ranks, alignment), true);
        }
        unit.trained_sizes = unit.sizes;
        add(unit, divided(parameters, frozen, ranks, vector_alignment), false);
    }
    return units;
}

}  // namespace switchyard::train

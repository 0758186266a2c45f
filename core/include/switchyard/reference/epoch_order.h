// The order in which an epoch visits its samples: a function of seed and epoch alone, the same for every data
// loader, so that runs with different loaders see the same data in the same order.
//
// Shuffled: Fisher-Yates (Durstenfeld 1964) with numbers from Philox4x32-10 (dropout.h), whose counter is
// (place, epoch) and whose key is the seed. Several ranks: rank r takes places r, r + world_size, ...; all
// take equally many, the first places filling up the last round (with drop_last the last round is left out
// instead).
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::reference {

// Indices of the samples that this rank visits in that epoch, in order.
std::vector<std::int64_t> epoch_order(std::int64_t size, const LoaderParams& params, std::int64_t epoch);

// Batches of an epoch of this rank.
std::int64_t epoch_batches(std::int64_t size, const LoaderParams& params);

// The part of the order that is batch number `batch`.
std::vector<std::int64_t> batch_samples(const std::vector<std::int64_t>& order, const LoaderParams& params,
                                        std::int64_t batch);

}  // namespace switchyard::reference

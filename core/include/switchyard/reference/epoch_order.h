// The order in which an epoch visits its samples: a function of seed and epoch alone, the same for every data
// loader, so that runs with different loaders see the same data in the same order.
//
// Shuffled: Fisher-Yates (Durstenfeld 1964) with numbers from Philox4x32-10 (dropout.h), whose counter is
// (place, epoch) and whose key is the seed. Several ranks: their batches of one number are one batch of
// batch_size * world_size samples, as one process would have it, cut into equally large parts, of which rank
// r takes the r-th. All take equally many: the last batch of all is filled up with the first places (with
// drop_last what does not divide is left out instead).
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

// How many samples at the end of this rank's batch only fill it up: other batches of the epoch have them.
std::int64_t repeated_samples(std::int64_t size, const LoaderParams& params, std::int64_t batch);

}  // namespace switchyard::reference

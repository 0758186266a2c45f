// Which samples go into which batch: functions of lengths alone, so that they are the same with any number of
// workers, and can be told without reading a sample.
//
// Samples come in the order of the reference (reference/epoch_order.h) and are put together in windows; what
// does not fill a batch is carried into the next window. Batches are then shuffled, unless the samples are
// not, and dealt to the ranks in turn; where they do not come out even, batches are halved (of single samples
// the first ones come again) or, with drop_last, left out.
//
// Packing is first-fit decreasing (Johnson 1973, "Near-optimal bin packing algorithms"): samples of a window
// from the longest to the shortest, each into the first batch that has room. For samples that are short
// beside a batch it leaves nearly no room unused; Krell et al. 2021 (arXiv:2107.02027) compare such ways for
// sequences.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/data_loader.h>

namespace switchyard::batching {

using Indices = std::vector<std::int64_t>;
using Batches = std::vector<Indices>;

// Tokens of a sample as they are cut to max_length.
struct Lengths {
    std::int64_t source = 0, target = 0;
    std::int64_t both() const { return source + target; }
};
using SampleLengths = std::vector<Lengths>;

SampleLengths lengths_of(const SampleSource& source, const LoaderParams& params);

// Tokens of a padded batch of `count` samples of which the longest are so long.
std::int64_t padded_size(std::int64_t count, const Lengths& longest, const LoaderParams& params);

// Batches of the order, in order: at most batch_size samples, and at most token_budget tokens where each
// sample takes so many with its padding.
Batches cut_in_order(const Indices& order, const LoaderParams& params, std::int64_t sample_tokens);

// Batches of samples of like length: each window is sorted by length and cut wherever a further sample would
// go beyond batch_size or token_budget.
Batches bucket(const Indices& order, const SampleLengths& lengths, const LoaderParams& params,
               std::int64_t window);

// Batches of at most token_budget tokens and batch_size samples, filled as well as they can be.
Batches pack(const Indices& order, const SampleLengths& lengths, const LoaderParams& params,
             std::int64_t window);

// The batches of one rank from those of all.
Batches deal(Batches batches, const LoaderParams& params, std::int64_t epoch);

}  // namespace switchyard::batching

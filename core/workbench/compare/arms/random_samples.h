// Random samples for a model and its task, a function of the seed alone: training steps are timed on them
// where there is no data.
#pragma once

#include <cstdint>
#include <optional>

#include "core/kernel/config/config.h"
#include "core/workbench/bench/bench_settings.h"
#include "core/workbench/data/sample_list.h"

namespace switchyard::compare {

// Lengths are drawn uniformly from `lengths`, or are all batch.max_length. Labels are one class a sample, one
// token in seven, or, for the next token of a gpt or a t5, every token; a t5's target is as long as its
// source.
data::SampleList random_samples(const config::Config& config, std::int64_t count,
                                std::optional<bench::LengthRange> lengths, std::uint64_t seed);

}  // namespace switchyard::compare

// [train]: how long, in which steps, and what is written down on the way.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// constant: 1;  linear, cosine: down to final_factor over the steps after the warm-up.
enum class ScheduleKind : std::uint8_t { constant, linear, cosine };

// What runs again in backward instead of being kept (activation checkpointing): nothing, whole layers, or one
// of their two parts.
enum class Recompute : std::uint8_t { none, layers, attention, feed_forward };

// What is done where a loss or a gradient is not finite, and no loss scale is there to answer for it.
enum class Nonfinite : std::uint8_t { stop, skip, rewind };

struct TrainConfig {
    double epochs = 1.0;                       // over the training samples; a part of one is allowed
    std::int64_t steps = 0;                    // optimizer steps; 0: as many as `epochs` needs
    std::int64_t grad_accumulation_steps = 1;  // batches a step
    ScheduleKind schedule = ScheduleKind::linear;
    double warmup_ratio = 0.06;     // of all steps
    std::int64_t warmup_steps = 0;  // instead of warmup_ratio; 0: as that says
    double final_factor = 0.0;      // of the learning rate at the end
    double ema = 0.0;               // decay of a moving average of the weights; 0: none
    std::string
        // initial weights: a Hugging Face folder or a safetensors file; empty: the paper's initialisation
        weights;
    Recompute recompute = Recompute::none;
    std::int64_t recompute_every = 1;  // in every n-th layer
    bool cuda_graph = false;           // whole steps captured into CUDA graphs, one for each shape of batches
    Nonfinite nonfinite = Nonfinite::stop;
    std::int64_t max_rewinds = 3;  // in a run
    std::int64_t log_every = 10;
    std::int64_t eval_every = 0;        // steps; 0: at the end only
    std::int64_t checkpoint_every = 0;  // steps; 0: not by steps
    double checkpoint_minutes = 10.0;   // 0: not by time
    std::int64_t keep_last = 2;         // checkpoints: the newest ones
    std::string keep_best;          // "eval.accuracy": beside them the best checkpoint by this; empty: none
    std::int64_t eval_answers = 0;  // texts that a seq2seq answers in each evaluation, for BLEU and chrF
    std::int64_t patience = 0;      // evaluations without a better one before training ends; 0: it does not
    double min_delta = 0.0;         // by which one is better, for patience
    bool operator==(const TrainConfig&) const = default;
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<config::ScheduleKind>{"constant", "linear", "cosine"};
template <>
inline constexpr std::array<std::string_view, 4> names<config::Recompute>{"none", "layers", "attention",
                                                                          "feed_forward"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Nonfinite>{"stop", "skip", "rewind"};
}  // namespace switchyard

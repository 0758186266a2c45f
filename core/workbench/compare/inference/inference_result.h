// What came out of a bench of inference: latencies of every arm on every workload, and how they compare.
//
// No LibTorch here.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/bench/measure/peaks.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/bench/measure/timing.h"
#include "core/workbench/compare/arms/workload.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

inline constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

// Of all that was timed, outliers included: a tail is made of them.
struct Latency {
    base::Interval ms{not_known, not_known, not_known};  // the median, with its 95 % interval over blocks
    double p95 = not_known, p99 = not_known;
    std::size_t count = 0;  // timed values

    bool known() const { return count > 0; }
};

// One arm in one block of one workload.
struct InferenceBlock {
    bench::TimedSample sample;                            // ms of a pass
    double prefill_ms = not_known, token_ms = not_known;  // medians within the block
    double wall_ms = 0.0;                                 // of the turn, by the coordinator's clock
    int round = 0;                                        // from 0
    double others_share = -1.0;  // of the processors' time, that went to others; below 0: not known
    bool repeated = false;       // another took its place, since some arm was disturbed in it
};

// One arm on one workload.
struct WorkloadResult {
    std::vector<std::optional<InferenceBlock>> blocks;  // nothing: the arm had failed before
    // Of every pass, and of every token after a first one, of the blocks that count.
    std::vector<double> pass_ms, prefill_ms, token_ms;
    std::vector<std::vector<std::int64_t>> generated;  // of the last pass
    std::int64_t prompt_tokens = -1;                   // of a pass; -1: not known, here and below
    std::int64_t read_bytes = -1;                      // of weights, for each token after the first
    std::int64_t cache_bytes = -1;                     // at the end of a pass
    std::int64_t peak_memory_bytes = -1;
    nlohmann::ordered_json executed = nlohmann::ordered_json::object();
    int outliers = 0;
    bool by_coordinator = false;  // its own times leave out much of its turns: passes are timed from outside

    // Filled in by summarise_inference.
    Latency pass, first_token, next_token;
    double samples_per_second = not_known;  // sequences through whole passes
    // Generation: new tokens by whole passes, by tokens after the first, and of prompts by first tokens;
    // forwards: tokens of the sequences.
    double tokens_per_second = not_known, decode_tokens_per_second = not_known,
           prefill_tokens_per_second = not_known;
    double read_gbytes_per_second = not_known;  // weights and cache, while tokens after the first come
    double read_share = not_known;              // of what the machine reads at its best
    double same_tokens = not_known;  // share of tokens before the first that differs from the base's
};

struct InferenceArmResult : ArmOutcome {
    std::int64_t weight_bytes = -1;       // held before any sequence comes
    bool reduced = false;                 // of reduced accuracy: rounding does not bound its drift
    double drift = not_known;             // of the first workload's outputs from the base's, relative
    double allowed = not_known;           // what rounding explains of it
    std::vector<WorkloadResult> results;  // by workload
};

// How many times as fast an arm is as the first that works, block by block: `speedup` and the verdict are of
// tokens after the first where there are any, else of a whole pass. A verdict that the medians of these
// contradict is none: they are what is shown.
struct InferencePair : JudgedSpeed {
    std::size_t workload = 0, base = 0, arm = 0;
    base::Interval pass;
    std::optional<base::Interval> prefill, decode;  // of generation
};

struct InferenceResult {
    Operation operation = Operation::forward;
    std::vector<Workload> workloads;
    std::vector<InferenceArmResult> arms;
    std::vector<InferencePair> pairs;
    int rounds = 1;                              // in each of which every arm was started anew
    std::vector<int> blocks;                     // by workload
    int repeated_blocks = 0;                     // of all workloads, since some arm was disturbed
    std::vector<std::int64_t> passes_per_block;  // by workload
    bench::Peaks peaks;                          // of the machine, in this very run
    std::uint64_t seed = 0;
    double elapsed_ms = 0.0;
    bool stopped = false;

    bool forced() const;  // some arm differs in what should be equal
    // The first arm that works; all others are relative to it. Its index, or that of no arm.
    std::size_t base() const;
    // The largest share that others had of the processors in blocks that count; below 0: not known.
    double most_of_others() const;
    // 0: all arms ran;  1: some did not, or it was stopped;  5: an arm is WRONG.
    int exit_code() const;
};

inline double pass_of(const InferenceBlock& block) { return block.sample.ms; }

// What blocks cost by `pick`, a time of an InferenceBlock.
template <class Pick>
BlockCosts block_costs(const WorkloadResult& result, const Pick& pick) {
    BlockCosts costs;
    for (const auto& block : result.blocks) {
        const bool timed = block && !block->repeated && std::isfinite(pick(*block));
        costs.round_of.push_back(block ? block->round : costs.round_of.empty() ? 0 : costs.round_of.back());
        costs.all.push_back(timed ? std::optional(pick(*block)) : std::nullopt);
        costs.good.push_back(timed && !block->sample.outlier ? costs.all.back() : std::nullopt);
    }
    return costs;
}

// From the turns that arms took to what is said of them: fills in latencies, rates and pairs.
void summarise_inference(InferenceResult& result, double margin);

}  // namespace switchyard::compare

// What came out of a comparison of arms.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/bench/measure/equivalence.h"
#include "core/workbench/bench/measure/machine_clock.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/bench/measure/timing.h"
#include "core/workbench/compare/arms/arm_message.h"
#include "core/workbench/compare/experiment/evaluation.h"
#include "core/workbench/compare/experiment/judged_speed.h"
#include "core/workbench/compare/experiment/stability.h"
#include "core/workbench/profile/profile.h"

namespace switchyard::compare {

// One of the things that are compared: a configuration with other values, or a program that speaks the
// protocol.
struct ArmSpec {
    std::string name;
    std::vector<std::string> overrides;         // "attention.backend=naive", on top of the configuration
    std::vector<std::string> program;           // not empty: an external arm
    std::string folder;                         // working directory of the program
    std::vector<std::string> environment = {};  // of its process, beside this one's: "NAME=VALUE"
    // With --force: what makes the comparison unfair, "model.layers: 6, the base has 12".
    std::vector<std::string> differs;
    // Which value of each `--vary` it has, from 0; its overrides begin with these values. Empty: it is none
    // of theirs.
    std::vector<std::size_t> levels = {};
    // Its steps have other samples than the base's, more or fewer: speeds are compared by sample, and nothing
    // is said of how far its first step and its losses are from the base's.
    bool own_batches = false;
    std::int64_t ranks = 1;       // processes that share its steps
    std::int64_t threads = 0;     // of each of them; 0: not known
    double slowed = 0.0;          // share of a step by which each is made to take longer
    std::string written_in = {};  // where its overrides stand: "--vary", "job.toml:12:1"; empty: nobody says
    bool cached = true;  // of generation: without, each token runs its whole sequence through the model again

    bool external() const { return !program.empty(); }
};

// crashed: its process ended;  timed_out: no answer in time;  nan: its loss was not finite;
// protocol_error: it wrote a line that does not follow the protocol;  failed: it reported an error, or could
// not be started.
enum class ArmStatus : std::uint8_t { ok, crashed, timed_out, nan, protocol_error, failed };

// One arm in one block.
struct ArmBlock {
    bench::TimedSample sample;  // ms of one step
    double wall_ms = 0.0;       // of the turn, by the coordinator's clock
    std::int64_t steps = 0;
    std::int64_t samples = 0, tokens = 0;                          // of all its timed steps
    double prefill_ms = std::numeric_limits<double>::quiet_NaN();  // of a pass that generates; NaN: not known
    int round = 0;                                                 // which start of the arm, from 0
    std::int64_t page_faults = -1;  // while it ran, minor and major; -1: not known
    double others_share = -1.0;     // of the processors' time, that went to others; below 0: not known
    bench::MachineClock clock{};    // as its turn ended
    bool repeated = false;  // another took its place, since some arm was disturbed in it: it does not count

    // Milliseconds a sample: arms whose loaders make other batches are comparable by it.
    double sample_ms() const { return sample.ms * static_cast<double>(steps) / static_cast<double>(samples); }
};

// What became of an arm, whatever it was asked for.
struct ArmOutcome {
    ArmSpec spec;
    ArmStatus status = ArmStatus::ok;
    std::string reason;              // why it is not ok
    std::string description, dtype;  // what it says of itself

    bool ok() const { return status == ArmStatus::ok; }
};

struct ArmResult : ArmOutcome {
    base::Interval step_ms;
    // Of a pass that generates: until the first new token of every row is known, and from then on.
    std::optional<base::Interval> prefill_ms, decode_ms;
    double samples_per_second = 0.0;
    double tokens_per_second = 0.0;
    std::int64_t peak_memory_bytes = -1;
    std::optional<profile::ObservedStep> observed;  // one step beside the blocks; nothing: it cannot tell
    Drift drift, allowed;                           // against the base; NaN: not known
    nlohmann::ordered_json executed = nlohmann::ordered_json::object();
    std::vector<std::optional<ArmBlock>> blocks;   // nothing: it had failed before
    std::vector<double> losses;                    // of each step of the first start, warm-up included
    std::vector<std::vector<double>> seed_losses;  // by seed
    std::vector<double> final_losses;              // by seed (judge_arms.h)
    Evaluations evaluations;                       // by seed, held-out samples after the last step
    std::string not_evaluated;                     // why there are none of them
    std::vector<bool> skipped;                     // of each step in `losses`: it changed nothing
    int outliers = 0;
    // What a pass that generates wrote, by row, and how much of it is as the base has it (generated_turn.h).
    std::vector<std::vector<std::int64_t>> generated;
    double same_tokens = std::numeric_limits<double>::quiet_NaN();
    std::int64_t skipped_steps = 0;  // of the timed run and of all seeds
    Stability stability;             // of the first start of the timed run, and by accuracy of all seeds
    // In the first start: the first step after which times do not change any more, of `warm_up_steps`; all of
    // them where they still did.
    std::int64_t steady_from = 0;
    // From the start of its process to the end of its first steady step; NaN: times still changed, or nobody
    // measured it.
    double start_up_ms = std::numeric_limits<double>::quiet_NaN();
    std::string
        measured_before;  // not empty: the file that it was read from; it took no turns with the others
    // Its own clock leaves out much of the time that its turns took: they were timed by the coordinator's.
    bool by_coordinator = false;
};

struct PairResult : JudgedSpeed {
    std::size_t base = 0;
    std::size_t arm = 0;
    std::optional<bench::EquivalenceResult> loss;
};

struct Comparison {
    Operation operation = Operation::step;
    std::int64_t new_tokens = 0;  // of Operation::generate, after each prompt
    std::vector<ArmResult> arms;
    std::vector<PairResult> pairs;
    int blocks = 0;                        // that count
    int rounds = 1;                        // in each of which every arm was started anew
    int repeated_blocks = 0;               // since some arm was disturbed
    std::int64_t steps_per_block = 0;      // that are timed; passes where they are over samples
    std::int64_t lead_in = 0;              // steps before them in each turn, not timed
    std::int64_t warm_up_steps = 0;        // of the first round
    std::int64_t later_warm_up_steps = 0;  // of each further one
    std::uint64_t seed = 0;
    int seeds = 0;
    std::int64_t loss_steps = 0;    // of each seed
    std::int64_t eval_samples = 0;  // of an evaluation, at most; 0: nobody was asked for one
    EvalMetric eval_metric = EvalMetric::accuracy;
    std::optional<bench::LossMargin> margin;
    double elapsed_ms = 0.0;
    bool stopped = false;
    profile::Roofs roofs = {};  // of the machine, as measured after it; no products: nobody did

    bool forced() const;  // some arm differs in what should be equal
    // The largest share that others had of the processors in blocks that count; below 0: not known.
    double most_of_others() const;
    // What is said of that arm against its base; nullptr: nothing.
    const PairResult* pair_with(std::size_t arm) const;
    // Operations a second in blocks of an arm that was observed; NaN: not known.
    double flops_per_second(std::size_t arm) const;
    // 0: all arms ran;  1: some did not, or it was stopped;  5: an arm is WRONG.
    int exit_code() const;
};

// What the first arm's step magnifies, times what the two dtypes round: see docs/compare.md.
Drift allowed_drift(const Drift& amplification, const std::string& base_dtype, const std::string& arm_dtype);
// As that, by what the arms say of themselves when they are to generate: what they keep is rounded, too. NaN
// where rounding bounds nothing: one of them is of reduced accuracy, or keeps whole numbers.
Drift allowed_generation_drift(const Drift& amplification, const Ready& base, const Ready& arm);
// Which of the drifts is too large, or "".
std::string too_far(const Drift& drift, const Drift& allowed);

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 6> names<compare::ArmStatus>{
    "ok", "crashed", "timed_out", "nan", "protocol_error", "failed"};
}  // namespace switchyard

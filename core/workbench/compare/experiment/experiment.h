// The coordinator of a comparison: arms take turns, one awake at a time, in randomised interleaved blocks.
//
//     prepare   every arm makes its model from the same weights and reports its first step
//     warm up   every arm a few steps, in turns; what they take decides how many steps a block has, and how
//               many blocks fit
//     blocks    in every block every arm takes the same steps of the same data, in an order drawn anew
//               (forward and the like: passes over the same samples instead of steps)
//     observe   after the blocks of the first round, where that is asked for, each arm that can tells of one
//               more step what its memory is for; what it computes in it counts for nothing
//     rounds    after so many blocks every arm ends and is started, prepared and warmed up anew, since no
//               number of blocks says how one start of an arm differs from the next
//     seeds     where final losses are asked for: for each seed every arm prepares again and trains to the
//               end, after which it evaluates held-out samples, if it can
//
// The numbers of rounds, blocks and steps are fixed before the first block, never by the results. A block in
// which other programs took a processor away from some arm is repeated: that is read from what the kernel
// counts, never from the arms' times. An arm that fails keeps its row and its reason; the others go on.
//
// No LibTorch here: the coordinator knows only clients, and tests put in fake ones.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/arms/step_counts.h"
#include "core/workbench/compare/experiment/arm_requests.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// Which preparation of an arm: of the timed run (-1) or of a seed from 0.
struct Preparation {
    std::size_t arm = 0;
    int seed = -1;
    int round = 0;  // of the timed run; weights, batches and first step are those of round 0
};

// What is being done.
struct ExperimentProgress {
    std::string text;           // "block 3 of 12"
    double share = -1.0;        // of all blocks, or of all seeds; negative: not known yet
    double seconds_left = 0.0;  // until these are done
};

struct ExperimentSettings {
    Operation operation = Operation::step;
    int blocks = 0;  // 0: as many as fit the time, within the bounds
    int min_blocks = 9;
    int max_blocks = 500;              // where more would fit, they have more steps
    int rounds = 0;                    // 0: as many starts of each arm as the time allows, 5 to 20, or one
    std::int64_t steps_per_block = 0;  // 0: as many as last min_turn_ms, or more
    double time_ms = 60'000.0;         // for warm-up and blocks, roughly
    double warm_up_ms = 1000.0;        // of each arm, at least two turns
    double min_turn_ms = 100.0;
    double timeout_ms = 300'000.0;       // for one answer
    bool repeats = true;                 // blocks in which other programs disturbed an arm
    bool observes = false;               // a step of each arm that can, for what its memory is for
    double margin = bench::same_margin;  // within which arms are the SAME
    std::uint64_t seed = 0;              // of the order and of the bootstrap
    int seeds = 0;
    std::int64_t loss_steps = 0;
    std::int64_t eval_samples = 0;  // held-out ones, evaluated after the last step of a seed; 0: none
    EvalMetric eval_metric = EvalMetric::accuracy;
    std::optional<bench::LossMargin> loss_margin;
    std::size_t reference_arm = 0;    // the arm that weights and batches come from: it prepares first
    GenerationAsked generation = {};  // of Operation::generate: a pass; their number is not read

    std::function<nlohmann::ordered_json(const Preparation&)> prepare;  // the message
    // A new process of an arm, or nothing, and why. Without it there is one round.
    std::function<std::unique_ptr<ArmClient>(std::size_t arm, std::string& error)> start;
    // After every arm has prepared: the drift of an arm's first step from that of another, files that their
    // preparations named.
    std::function<Drift(std::size_t arm, std::size_t base)> drift;
    // Before an arm prepares, and after the reference arm: makes what it loads. "", or why it cannot.
    std::function<std::string(const Preparation&)> supply;
    // After an arm has prepared: what the batches of a file hold that it trains on, step by step; nothing
    // where it makes its own. What it reports is checked against it.
    std::function<std::vector<StepCounts>(const Preparation&)> written_steps;
    std::function<void(const ExperimentProgress&)> progress;
    // Told once, before the first block: how many there will be, and how long they take with the warm-up.
    // Longer than time_ms where steps are long: fewer blocks would be of no use.
    std::function<void(int blocks, double seconds)> planned;
    std::function<bool()> stop;
    std::function<bench::MachineClock()> clock = [] { return bench::read_machine_clock(); };
};

Comparison run_experiment(std::vector<StartedArm> arms, const ExperimentSettings& settings);

}  // namespace switchyard::compare

// The coordinator of a bench of inference: arms take turns, one awake at a time, in randomised interleaved
// blocks, workload after workload.
//
//     prepare   once: every arm makes its model from the same weights, and tells the first workload's
//               outputs
//     rounds    in each of them all arms are started anew, since no number of blocks of one start tells what
//               another start would take (docs/compare.md)
//     warm up   of each workload in each round; two passes of each arm in the first, the second of which says
//               how many passes a block has
//     blocks    in every block every arm passes over the same sequences, in an order drawn anew; one in which
//               others had the processors is repeated, a quarter as many as were planned at the most
//
// The number of rounds is fixed before the first block, those of blocks and passes before the first block of
// a workload, never by the results.
//
// No LibTorch here: the coordinator knows only clients, and tests put in fake ones.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/experiment/arm_requests.h"
#include "core/workbench/compare/experiment/experiment.h"
#include "core/workbench/compare/inference/inference_result.h"

namespace switchyard::compare {

struct InferenceSettings {
    Operation operation = Operation::forward;  // or generate
    std::vector<Workload> workloads;
    std::int64_t vocabulary = 0;
    int blocks = 0;  // of a workload; 0: as many as fit the time, within the bounds
    int rounds = 0;  // 0: `least_rounds` where starting that often takes at most half of the time, or one
    int min_blocks = 6;
    int max_blocks = 500;                // where more would fit, they have more passes
    double time_ms = 60'000.0;           // for all workloads, roughly
    double min_turn_ms = 50.0;           // of the fastest arm, or more
    double timeout_ms = 300'000.0;       // for one answer
    double margin = bench::same_margin;  // within which arms are the SAME
    std::uint64_t seed = 0;              // of the order and of the bootstrap
    std::size_t reference_arm = 0;       // that weights and sequences come from: it prepares first

    std::function<nlohmann::ordered_json(std::size_t arm, int round)> prepare;  // the message
    // A new process of an arm; nullptr: `error` says why there is none. Nothing: there is one round.
    std::function<std::unique_ptr<ArmClient>(std::size_t arm, std::string& error)> start;
    std::function<double(std::size_t arm, std::size_t base)> drift;  // of the first outputs
    std::function<void()> sample_machine;                            // while all arms sleep
    std::function<bench::Peaks()> peaks;                             // of all samples
    std::function<void(const ExperimentProgress&)> progress;
};

InferenceResult run_inference(std::vector<StartedArm> arms, const InferenceSettings& settings);

}  // namespace switchyard::compare

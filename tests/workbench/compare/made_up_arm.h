// Arms that are no processes: each answers from what a test says, on a clock that only their answers move.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/compare/experiment/experiment.h"

namespace switchyard::test {

struct MadeUp {
    std::function<double(std::int64_t step)> step_ms = [](std::int64_t) { return 100.0; };
    std::function<double(std::int64_t step)> loss = [](std::int64_t step) {
        return 2.0 / (1.0 + 0.1 * static_cast<double>(step));
    };
    std::function<double(int seed)> seed_shift = [](int) { return 0.0; };
    std::int64_t involuntary_switches = 0;
    std::function<double(int turn)> others_share = [](int) { return -1.0; };
    double silent_from_turn = 1e9, gone_from_turn = 1e9;
    std::string instead;  // said in place of the report of a turn
    double claims = 1.0;  // of its time
    double prepare_ms = 500.0;
    std::int64_t peak_memory_bytes = 1'000'000;
    double first_loss = 2.0;
    std::string dtype = "float32";
    compare::Operation operation = compare::Operation::step;  // that it is ready for
    std::int64_t samples = 4;                                 // of a step, or of a pass
    std::optional<profile::ObservedStep> observed;            // what it tells of a step; nothing: it cannot
    // What it finds on held-out samples with that seed; empty: it cannot, and says why or nothing.
    std::function<compare::Evaluation(int seed)> evaluation = {};
    std::string not_evaluated = {};
};

// A step whose memory holds that many bytes of parameters, twice as many of state, and twice as many of
// activations when all is most; of 4 samples and 100 tokens.
profile::ObservedStep step_of(std::int64_t parameters);

// What went on, in order: "a prepares", "b runs 3", "b evaluates", "a ends".
using Log = std::vector<std::string>;

// One whose steps all take `ms`.
MadeUp steady(double ms);
// One whose steps take `ms` in the median; the logarithm of their times is normal, of that spread.
MadeUp scattered(double ms, double spread, std::uint64_t seed);

std::unique_ptr<compare::ArmClient> made_up_client(const std::string& name, const MadeUp& arm, Log& log);
compare::StartedArm made_up_arm(const std::string& name, const MadeUp& arm, Log& log);

// Settings whose messages and drifts mean nothing.
compare::ExperimentSettings quick_settings();

}  // namespace switchyard::test

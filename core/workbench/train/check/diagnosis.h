// `switchyard diagnose`: the debugging that practice teaches, as tests of one's own model, data and backends
// (Karpathy 2019, "A Recipe for Training Neural Networks"). Each diagnosis is one function that says what it
// found and, if that is bad, what to try.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/workbench/train/session.h"

namespace switchyard::train {

enum class Health : std::uint8_t { good, bad, unclear, skipped };

struct Diagnosis {
    std::string name;  // "overfits one batch"
    Health health = Health::good;
    std::string finding;  // what was measured, one line
    std::string advice;   // what to try, if not good
};

// Batches of real data and the means to run them. Diagnoses change the parameters; the caller puts them back
// in between.
struct CheckBench {
    Session& session;
    Trainer& trainer;
    std::vector<Batch> batches;  // a few, from the training data; never empty
};

Diagnosis check_lengths(
    CheckBench& bench);  // sequences of 1, 2, odd and maximal length work, padding changes nothing
Diagnosis check_finite_activations(CheckBench& bench);
Diagnosis check_attention_rows(
    CheckBench& bench);  // with values of one, attention gives one: rows sum to one, through the real backend
Diagnosis check_causality(CheckBench& bench);       // a causal model's past does not change with its future
Diagnosis check_gradients(CheckBench& bench);       // finite, neither vanishing nor exploding, layer by layer
Diagnosis check_all_parameters(CheckBench& bench);  // every parameter that is trained gets a gradient
Diagnosis check_memory(CheckBench& bench);          // live memory does not grow from step to step
Diagnosis check_first_steps(CheckBench& bench);     // the loss of the first steps falls
Diagnosis check_overfit(CheckBench& bench);         // one batch can be memorized

}  // namespace switchyard::train

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<train::Health>{"good", "BAD", "unclear", "skipped"};
}  // namespace switchyard

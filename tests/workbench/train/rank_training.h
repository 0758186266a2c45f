// Short trainings on two and three ranks, and the same on one process. How far they may be apart is what one
// process is from itself that has the same batch in as many parts.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/distributed/group.h"
#include "ragged_texts.h"
#include "short_training.h"

namespace switchyard::test {

using Sets = std::vector<std::string>;

RaggedTexts texts_for(const std::string& task);

struct Case {
    std::string type, task;
    std::int64_t ranks = 2;
    Sets more = {};
    std::int64_t tensor = 1;    // of these ranks, those that have a part of each layer
    std::int64_t pipeline = 1;  // and those that have a range of them
    bool sequence = false;      // tokens are divided between blocks
};

Case with(Case one, const Sets& more);

// Of ranks that take `batch` samples each.
Sets sets_of(const Case& one, std::int64_t batch, std::int64_t accumulated);
// And how they divide the model.
Sets rank_sets_of(const Case& one, std::int64_t batch, std::int64_t accumulated);

// What a Llama has otherwise than a GPT-2: grouped heads, a gated feed-forward, an lm_head of its own.
extern const Sets as_llama;

// The values of all parameters, end to end.
at::Tensor values_of(const model::Parameters& parameters);

// Sequences of one target each: that of sample 0 is so large that its gradient is not finite in float16 at
// the first scales.
class OneLarge final : public SampleSource {
public:
    std::int64_t size() const override { return 16; }
    std::int64_t length(std::int64_t) const override { return 4; }
    Sample get(std::int64_t index, std::int64_t epoch) const override;
};

struct Trained {
    std::vector<double> losses;
    std::vector<std::int64_t> samples;
    std::vector<bool> skipped;
    double learning_rate = 0.0;    // before the schedule
    at::Tensor parameters;         // of all, end to end
    std::int64_t state_bytes = 0;  // of the optimizer's state and masters on this process
    std::int64_t kept_bytes = 0;   // of parameters between steps, and of gradients
    std::int64_t held_bytes = 0;   // the most memory that parameters themselves had after a step
    // By parameter, of the batches that come next: whole and summed up over ranks, in float32.
    std::map<std::string, at::Tensor> gradients;
};

// Without a group what one process learns, whatever ranks, tensor, pipeline and sequence say.
Trained trained_by(const Case& one, std::int64_t batch, std::int64_t accumulated,
                   distributed::Group* group = nullptr);
std::vector<Trained> train_on_ranks(const Case& one, std::int64_t batch, std::int64_t accumulated);

// Relative to the mean size of values.
double distance(const at::Tensor& a, const at::Tensor& b);
double distance(const std::vector<double>& a, const std::vector<double>& b);

// The parameter whose gradients differ most. A gradient that is next to nothing, such as that of a bias of
// keys, is all rounding: what is small beside the largest gradient is measured by that.
struct Farthest {
    std::string parameter;
    double distance = 0.0;
};
Farthest farthest(const Trained& a, const Trained& b);

constexpr double rounding = 2e-6;  // of float32, over the steps of a case

// Checks that ranks learn what one process learns, which has all their samples in one batch: by their losses,
// their parameters, and the gradient of each parameter, since a wrong factor of one gradient hardly moves
// parameters where the optimizer divides by its size.
void check_all(const std::vector<Case>& cases);

// Of two ranks of a mesh, "distributed.mesh.tensor=2", the second has a gradient of that parameter that is
// not finite: checks that both know it by name, and neither steps.
void check_not_finite_on_one(const std::string& mesh, const std::string& parameter);

}  // namespace switchyard::test

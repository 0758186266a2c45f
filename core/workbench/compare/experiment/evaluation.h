// What arms find on held-out samples of the job after the last step of a seed, and by which figure it is
// told.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/config/config.h"
#include "core/workbench/compare/arms/arm_message.h"

namespace switchyard::compare {

// accuracy: the share of labels that the largest logit hits, of tasks whose labels exclude each other;
// perplexity: exp(mean loss), of tasks that predict words; loss: of all others.
enum class EvalMetric : std::uint8_t { accuracy, perplexity, loss };

EvalMetric eval_metric(const config::Config& config);

// By seed; nothing: it was not evaluated.
using Evaluations = std::vector<std::optional<Evaluation>>;

// Nothing where it is not known. The loss is known of every evaluation.
std::optional<double> value_of(const std::optional<Evaluation>& evaluation, EvalMetric metric);
// Of each seed of which it is known.
std::vector<double> values_of(const Evaluations& evaluations, EvalMetric metric);
// Over these seeds.
std::optional<double> median_of(const Evaluations& evaluations, EvalMetric metric);

// Of a share of so many labels, by chance alone: that of a binomial distribution.
double standard_error(double share, std::int64_t labels);

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 3> names<compare::EvalMetric>{"accuracy", "perplexity", "loss"};
}  // namespace switchyard

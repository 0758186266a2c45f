#include "core/workbench/compare/experiment/evaluation.h"

#include <cmath>

#include "core/workbench/bench/measure/statistics.h"

namespace switchyard::compare {

EvalMetric eval_metric(const config::Config& config) {
    if (config.task.float_labels()) return EvalMetric::loss;
    if (!config.task.predicts_tokens()) return EvalMetric::accuracy;
    return config.loss.custom.empty() ? EvalMetric::perplexity : EvalMetric::loss;
}

std::optional<double> value_of(const std::optional<Evaluation>& evaluation, EvalMetric metric) {
    if (!evaluation) return std::nullopt;
    if (metric == EvalMetric::loss) return evaluation->loss;
    if (metric == EvalMetric::accuracy) {
        if (evaluation->correct < 0 || evaluation->labels < 1) return std::nullopt;
        return static_cast<double>(evaluation->correct) / static_cast<double>(evaluation->labels);
    }
    const double perplexity = std::exp(evaluation->loss);
    return std::isfinite(perplexity) ? std::optional(perplexity) : std::nullopt;
}

std::vector<double> values_of(const Evaluations& evaluations, EvalMetric metric) {
    std::vector<double> values;
    for (const auto& evaluation : evaluations) {
        if (const auto value = value_of(evaluation, metric)) values.push_back(*value);
    }
    return values;
}

std::optional<double> median_of(const Evaluations& evaluations, EvalMetric metric) {
    const auto values = values_of(evaluations, metric);
    if (values.empty()) return std::nullopt;
    return bench::median(values);
}

double standard_error(double share, std::int64_t labels) {
    return std::sqrt(share * (1.0 - share) / static_cast<double>(labels));
}

}  // namespace switchyard::compare

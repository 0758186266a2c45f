#include "core/workbench/train/best_so_far.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/kernel/config/metric_names.h"

namespace switchyard::train {

std::optional<double> metric_of(const EvalResult& result, const std::string& metric) {
    std::optional<double> value;
    if (metric == "loss") value = result.loss;
    if (metric == "accuracy") value = result.accuracy;
    if (metric == "perplexity") value = result.perplexity;
    for (const auto& [name, of_task] : result.metrics)
        if (name == metric) value = of_task;
    return value && std::isfinite(*value) ? value : std::nullopt;
}

BestSoFar::BestSoFar(const config::TrainConfig& config)
    : metric_(config::kept_metric(config)),
      lower_(config::lower_is_better(metric_)),
      patience_(config.patience),
      min_delta_(config.min_delta) {}

bool BestSoFar::add(const Evaluation& evaluation) {
    all_.push_back(evaluation);
    return judge(evaluation);
}

// As in the early stopping of transformers, what is better by less than min_delta is kept, but uses up
// patience.
bool BestSoFar::judge(const Evaluation& evaluation) {
    ++without_;
    if (!evaluation.value) return false;
    const double value = *evaluation.value;
    const double gain = !best_ ? 0.0 : lower_ ? best_->value - value : value - best_->value;
    if (best_ && gain <= 0.0) return false;
    if (!best_ || gain > min_delta_) without_ = 0;
    best_ = Best{evaluation.step, value};
    return true;
}

void BestSoFar::forget_from(std::int64_t step) {
    std::erase_if(all_, [&](const Evaluation& evaluation) { return evaluation.step >= step; });
    best_ = std::nullopt;
    without_ = 0;
    for (const auto& evaluation : all_) judge(evaluation);
}

}  // namespace switchyard::train

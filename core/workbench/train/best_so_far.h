// Which evaluation of a run is the best by the metric of train.keep_best, and whether train.patience is at
// its end. It follows from the run's evaluations alone, which metrics.jsonl has too: a run that was killed
// and resumed comes to the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/kernel/config/train_config.h"
#include "core/workbench/train/evaluate.h"

namespace switchyard::train {

// After `step` steps the metric was `value`; none: it was not defined, or not finite.
struct Evaluation {
    std::int64_t step = 0;
    std::optional<double> value;
    bool operator==(const Evaluation&) const = default;
};

// "loss", "accuracy", "perplexity" or one of result.metrics; none if it is not there or not finite.
std::optional<double> metric_of(const EvalResult& result, const std::string& metric);

class BestSoFar {
public:
    struct Best {
        std::int64_t step = 0;
        double value = 0.0;
        bool operator==(const Best&) const = default;
    };

    explicit BestSoFar(const config::TrainConfig& config);

    // "accuracy"; "": none is kept.
    const std::string& metric() const { return metric_; }
    // Is it the best? An equal one is not.
    bool add(const Evaluation& evaluation);
    // Those of this step and later ones.
    void forget_from(std::int64_t step);
    void forget_all() { forget_from(0); }

    const std::optional<Best>& best() const { return best_; }
    // The best, or the last that was better by more than train.min_delta, was train.patience evaluations ago.
    bool out_of_patience() const { return patience_ > 0 && without_ >= patience_; }

private:
    bool judge(const Evaluation& evaluation);

    std::string metric_;
    bool lower_;
    std::int64_t patience_;
    double min_delta_;
    std::vector<Evaluation> all_;
    std::optional<Best> best_;
    std::int64_t without_ = 0;  // evaluations since one was better
};

}  // namespace switchyard::train

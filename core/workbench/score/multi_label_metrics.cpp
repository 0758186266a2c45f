#include "core/workbench/score/multi_label_metrics.h"

#include <algorithm>
#include <cmath>

#include "core/workbench/score/counts.h"

namespace switchyard::score {
void MultiLabelCounts::add(std::span<const double> logits, std::span<const double> right) {
    bool exact = true;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
        if (std::isnan(right[i])) continue;
        const bool told = logits[i] > 0.0, there = right[i] > 0.5;
        labels_[i].counts += {told && there, told, there};
        labels_[i].hits += told == there ? 1 : 0;
        ++labels_[i].samples;
        exact = exact && told == there;
    }
    ++samples_;
    exact_ += exact ? 1 : 0;
}

Metrics MultiLabelCounts::metrics(const std::vector<std::string>& names) const {
    Label sum;
    double f1_sum = 0.0;
    for (const auto& label : labels_) {
        sum.counts += label.counts;
        sum.hits += label.hits;
        sum.samples += label.samples;
        f1_sum += label.counts.f1();
    }
    const auto labels = static_cast<double>(std::max<std::size_t>(labels_.size(), 1));
    Metrics metrics{{"micro_f1", sum.counts.f1()},
                    {"macro_f1", f1_sum / labels},
                    {"exact_match", share(exact_, samples_)},
                    {"label_accuracy", share(sum.hits, sum.samples)}};
    for (std::size_t i = 0; i < labels_.size(); ++i)
        metrics.emplace_back("accuracy/" + names[i], share(labels_[i].hits, labels_[i].samples));
    return metrics;
}

}  // namespace switchyard::score

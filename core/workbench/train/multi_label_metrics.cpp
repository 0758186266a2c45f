#include "core/workbench/train/multi_label_metrics.h"

#include <algorithm>
#include <cmath>

namespace switchyard::train {
namespace {

double share(std::int64_t part, std::int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The harmonic mean of precision and recall.
double f1(std::int64_t both, std::int64_t only_told, std::int64_t only_right) {
    return share(2 * both, 2 * both + only_told + only_right);
}

}  // namespace

void MultiLabelCounts::add(std::span<const double> logits, std::span<const double> right) {
    bool exact = true;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
        if (std::isnan(right[i])) continue;
        const bool told = logits[i] > 0.0, there = right[i] > 0.5;
        ++(told    ? there ? labels_[i].both : labels_[i].only_told
           : there ? labels_[i].only_right
                   : labels_[i].neither);
        exact = exact && told == there;
    }
    ++samples_;
    exact_ += exact ? 1 : 0;
}

Metrics MultiLabelCounts::metrics(const std::vector<std::string>& names) const {
    Label sum;
    double f1_sum = 0.0;
    for (const auto& label : labels_) {
        sum.both += label.both;
        sum.only_told += label.only_told;
        sum.only_right += label.only_right;
        sum.neither += label.neither;
        f1_sum += f1(label.both, label.only_told, label.only_right);
    }
    const auto labels = static_cast<double>(std::max<std::size_t>(labels_.size(), 1));
    Metrics metrics{{"micro_f1", f1(sum.both, sum.only_told, sum.only_right)},
                    {"macro_f1", f1_sum / labels},
                    {"exact_match", share(exact_, samples_)},
                    {"label_accuracy", share(sum.both + sum.neither, sum.all())}};
    for (std::size_t i = 0; i < labels_.size(); ++i)
        metrics.emplace_back("accuracy/" + names[i],
                             share(labels_[i].both + labels_[i].neither, labels_[i].all()));
    return metrics;
}

}  // namespace switchyard::train

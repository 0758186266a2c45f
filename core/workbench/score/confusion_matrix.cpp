#include "core/workbench/score/confusion_matrix.h"

#include <algorithm>
#include <cmath>

namespace switchyard::score {
namespace {

// `weights`: of the classes, 0 for those that do not count.
ClassMeans means_of(const std::vector<Counts>& classes, const std::vector<double>& weights) {
    ClassMeans sum;
    double all = 0.0;
    for (std::size_t i = 0; i < classes.size(); ++i) {
        sum.precision += weights[i] * classes[i].precision();
        sum.recall += weights[i] * classes[i].recall();
        sum.f1 += weights[i] * classes[i].f1();
        all += weights[i];
    }
    if (all == 0.0) return {};
    return {sum.precision / all, sum.recall / all, sum.f1 / all};
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(std::vector<std::string> labels)
    : labels_(std::move(labels)), classes_(labels_.size()) {}

void ConfusionMatrix::add(std::size_t right, std::size_t told, std::int64_t times) {
    if (times == 0) return;
    classes_.at(right).right += times;
    classes_.at(told).told += times;
    cells_[{right, told}] += times;
    total_ += times;
    if (right != told) return;
    classes_[right].both += times;
    hits_ += times;
}

std::int64_t ConfusionMatrix::count(std::size_t right, std::size_t told) const {
    const auto found = cells_.find({right, told});
    return found == cells_.end() ? 0 : found->second;
}

bool ConfusionMatrix::occurs(std::size_t label) const {
    return classes_[label].told > 0 || classes_[label].right > 0;
}

std::vector<ConfusionMatrix::Cell> ConfusionMatrix::confusions() const {
    std::vector<Cell> wrong;
    for (const auto& [place, count] : cells_)
        if (place.first != place.second) wrong.push_back({place.first, place.second, count});
    std::ranges::stable_sort(wrong, [](const Cell& a, const Cell& b) { return a.count > b.count; });
    return wrong;
}

ClassMeans ConfusionMatrix::macro() const {
    std::vector<double> weights(labels_.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = occurs(i) ? 1.0 : 0.0;
    return means_of(classes_, weights);
}

ClassMeans ConfusionMatrix::weighted() const {
    std::vector<double> weights(labels_.size());
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<double>(classes_[i].right);
    return means_of(classes_, weights);
}

double ConfusionMatrix::matthews() const {
    const auto all = static_cast<double>(total_);
    double products = 0.0, told_squares = 0.0, right_squares = 0.0;
    for (const auto& one : classes_) {
        if (one.told == total_ || one.right == total_) return 0.0;
        const auto told = static_cast<double>(one.told), right = static_cast<double>(one.right);
        products += told * right;
        told_squares += told * told;
        right_squares += right * right;
    }
    const double varies = std::sqrt(all * all - told_squares) * std::sqrt(all * all - right_squares);
    return varies > 0.0 ? (static_cast<double>(hits_) * all - products) / varies : 0.0;
}

Metrics ConfusionMatrix::metrics() const {
    if (total_ == 0) return {};
    const auto means = macro();
    Metrics metrics{{"macro_f1", means.f1},
                    {"macro_precision", means.precision},
                    {"macro_recall", means.recall},
                    {"mcc", matthews()}};
    if (labels_.size() > listed_classes) return metrics;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
        if (!occurs(i)) continue;
        metrics.emplace_back("f1/" + labels_[i], classes_[i].f1());
        metrics.emplace_back("precision/" + labels_[i], classes_[i].precision());
        metrics.emplace_back("recall/" + labels_[i], classes_[i].recall());
    }
    return metrics;
}

}  // namespace switchyard::score

// How often each class was predicted as which, and what follows of it for labels that exclude each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/score/counts.h"
#include "core/workbench/score/metrics.h"

namespace switchyard::score {

// Means over classes.
struct ClassMeans {
    double precision = 0.0, recall = 0.0, f1 = 0.0;
};

class ConfusionMatrix {
public:
    // With more classes the records have no scores of single classes.
    static constexpr std::size_t listed_classes = 30;

    explicit ConfusionMatrix(std::vector<std::string> labels);

    void add(std::size_t right, std::size_t told, std::int64_t times = 1);

    const std::vector<std::string>& labels() const { return labels_; }
    std::int64_t total() const { return total_; }
    std::int64_t count(std::size_t right, std::size_t told) const;
    // `right` of a class is what scikit-learn calls its support.
    const Counts& of_class(std::size_t label) const { return classes_[label]; }
    // Whether a class was ever there or predicted.
    bool occurs(std::size_t label) const;

    struct Cell {
        std::size_t right = 0, told = 0;
        std::int64_t count = 0;
    };
    // Predictions that are wrong, the most frequent first.
    std::vector<Cell> confusions() const;

    // Of labels that exclude each other precision, recall and F1 over all classes (micro) equal accuracy.
    double accuracy() const { return share(hits_, total_); }
    // Over the classes that occur: scikit-learn's means where it is given no list of labels.
    ClassMeans macro() const;
    // Weighted by how often each class is there.
    ClassMeans weighted() const;
    // Matthews correlation of several classes (Gorodkin 2004, Comput. Biol. Chem. 28, 367-374); 0 where all
    // labels or all predictions are of one class.
    double matthews() const;

    // macro_f1, macro_precision, macro_recall, mcc; f1/LABEL, precision/LABEL and recall/LABEL of those that
    // occur, if there are not too many. None without samples.
    Metrics metrics() const;

private:
    std::vector<std::string> labels_;
    std::vector<Counts> classes_;
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> cells_;  // right, told; no zeros
    std::int64_t total_ = 0, hits_ = 0;
};

}  // namespace switchyard::score

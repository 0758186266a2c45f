// How well labels that do not exclude each other were told.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/workbench/score/counts.h"
#include "core/workbench/score/metrics.h"

namespace switchyard::score {

class MultiLabelCounts {
public:
    explicit MultiLabelCounts(std::size_t labels) : labels_(labels) {}

    // A sample; `right`: 1, 0 or NaN for no label. A label is told where its logit is above 0, its
    // probability above one half.
    void add(std::span<const double> logits, std::span<const double> right);

    // micro_f1, macro_f1, exact_match, label_accuracy and "accuracy/LABEL" of each. A label that is neither
    // there nor told anywhere has an F1 of 0, as scikit-learn has it.
    Metrics metrics(const std::vector<std::string>& names) const;

private:
    struct Label {
        Counts counts;
        std::int64_t hits = 0, samples = 0;  // told where it is there, or neither
    };
    std::vector<Label> labels_;
    std::int64_t samples_ = 0, exact_ = 0;
};

}  // namespace switchyard::score

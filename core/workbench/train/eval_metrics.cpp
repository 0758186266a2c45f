#include "core/workbench/train/eval_metrics.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/kernel/config/metric_names.h"
#include "core/workbench/data/label_columns.h"
#include "core/workbench/score/entity_metrics.h"
#include "core/workbench/score/multi_label_metrics.h"
#include "core/workbench/score/regression_metrics.h"

namespace switchyard::train {
namespace {

// [rows, columns] as numbers on the host, row after row.
class Table {
public:
    explicit Table(const at::Tensor& tensor)
        : values_(tensor.to(at::kCPU, at::kDouble).contiguous()),
          columns_(static_cast<std::size_t>(tensor.size(1))) {}
    std::span<const double> row(std::int64_t row) const {
        return {values_.const_data_ptr<double>() + static_cast<std::size_t>(row) * columns_, columns_};
    }
    std::int64_t rows() const { return values_.size(0); }

private:
    at::Tensor values_;
    std::size_t columns_;
};

class OfRegression final : public EvalMetrics {
public:
    OfRegression(std::vector<std::string> names, data::LabelScale scale)
        : names_(std::move(names)), scale_(std::move(scale)), columns_(names_.size()) {}

    // Column, predicted and right value, of each that has a label.
    std::vector<double> numbers(const Batch&, const model::TaskResult& task) const override {
        const Table predicted(task.logits), right(task.targets);
        std::vector<double> told;
        for (std::int64_t row = 0; row < predicted.rows(); ++row) {
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                const double target = right.row(row)[i];
                if (!std::isnan(target))
                    told.insert(told.end(), {static_cast<double>(i), scale_.value(i, predicted.row(row)[i]),
                                             scale_.value(i, target)});
            }
        }
        return told;
    }
    void add(std::span<const double> numbers) override {
        for (; numbers.size() >= 3; numbers = numbers.subspan(3))
            columns_[static_cast<std::size_t>(numbers[0])].add(numbers[1], numbers[2]);
    }
    score::Metrics result() const override { return score::regression_metrics(columns_, names_); }

private:
    std::vector<std::string> names_;
    data::LabelScale scale_;
    std::vector<score::RegressionColumn> columns_;
};

class OfMultiLabel final : public EvalMetrics {
public:
    explicit OfMultiLabel(std::vector<std::string> names)
        : names_(std::move(names)), counts_(names_.size()) {}

    // The logits of a sample, then its labels.
    std::vector<double> numbers(const Batch&, const model::TaskResult& task) const override {
        const Table logits(task.logits), right(task.targets);
        std::vector<double> told;
        for (std::int64_t row = 0; row < logits.rows(); ++row)
            for (const auto& values : {logits.row(row), right.row(row)})
                told.insert(told.end(), values.begin(), values.end());
        return told;
    }
    void add(std::span<const double> numbers) override {
        const auto labels = names_.size();
        for (; labels > 0 && numbers.size() >= 2 * labels; numbers = numbers.subspan(2 * labels))
            counts_.add(numbers.first(labels), numbers.subspan(labels, labels));
    }
    score::Metrics result() const override { return counts_.metrics(names_); }

private:
    std::vector<std::string> names_;
    score::MultiLabelCounts counts_;
};

// Places of each sequence's tokens in a row of all tokens of a batch, padded places included.
std::vector<std::pair<std::int64_t, std::int64_t>> places_of(const TokenBatch& side) {
    std::vector<std::pair<std::int64_t, std::int64_t>> places;
    if (side.tokens.layout == Layout::packed) {
        const auto ends = side.tokens.cu_seqlens.to(at::kCPU, at::kLong).contiguous();
        const auto* const end = ends.const_data_ptr<std::int64_t>();
        for (std::int64_t i = 0; i + 1 < ends.numel(); ++i) places.emplace_back(end[i], end[i + 1]);
    } else {
        const auto length = side.ids.size(1);
        for (std::int64_t i = 0; i < side.ids.size(0); ++i) places.emplace_back(i * length, (i + 1) * length);
    }
    return places;
}

// Predicted and right labels, row after row, on the host.
class LabelPairs {
public:
    explicit LabelPairs(const model::TaskResult& task)
        : told_(task.logits.argmax(1).to(at::kCPU, at::kLong).contiguous()),
          right_(task.targets.to(at::kCPU, at::kLong).contiguous()) {}
    std::int64_t rows() const { return right_.size(0); }
    std::int64_t told(std::int64_t row) const { return told_.const_data_ptr<std::int64_t>()[row]; }
    std::int64_t right(std::int64_t row) const { return right_.const_data_ptr<std::int64_t>()[row]; }

private:
    at::Tensor told_, right_;
};

class OfClasses final : public EvalMetrics {
public:
    // `kept`: the metric of train.keep_best, which is told of one class of however many.
    OfClasses(std::vector<std::string> names, std::int64_t ignored, std::string kept)
        : matrix_(std::move(names)), ignored_(ignored), kept_(std::move(kept)) {}

    // Right and predicted label of each that has one.
    std::vector<double> numbers(const Batch&, const model::TaskResult& task) const override {
        std::vector<double> told;
        if (!task.logits.defined() || task.logits.size(0) == 0) return told;
        const LabelPairs labels(task);
        for (std::int64_t row = 0; row < labels.rows(); ++row) {
            if (labels.right(row) == ignored_) continue;
            told.push_back(static_cast<double>(labels.right(row)));
            told.push_back(static_cast<double>(labels.told(row)));
        }
        return told;
    }
    void add(std::span<const double> numbers) override {
        for (; numbers.size() >= 2; numbers = numbers.subspan(2))
            matrix_.add(static_cast<std::size_t>(numbers[0]), static_cast<std::size_t>(numbers[1]));
    }
    score::Metrics result() const override {
        auto metrics = matrix_.metrics();
        const auto told = [&](const auto& metric) { return metric.first == kept_; };
        if (std::ranges::none_of(metrics, told)) add_kept(metrics);
        return metrics;
    }
    const score::ConfusionMatrix* confusion() const override {
        return matrix_.total() > 0 ? &matrix_ : nullptr;
    }

private:
    void add_kept(score::Metrics& metrics) const {
        const auto slash = kept_.find('/');
        if (slash == std::string::npos) return;
        const auto& labels = matrix_.labels();
        const auto found = std::ranges::find(labels, kept_.substr(slash + 1));
        const auto label = static_cast<std::size_t>(found - labels.begin());
        if (found == labels.end() || !matrix_.occurs(label)) return;
        const auto& counts = matrix_.of_class(label);
        const auto name = kept_.substr(0, slash);
        if (name == "f1") metrics.emplace_back(kept_, counts.f1());
        if (name == "precision") metrics.emplace_back(kept_, counts.precision());
        if (name == "recall") metrics.emplace_back(kept_, counts.recall());
    }

    score::ConfusionMatrix matrix_;
    std::int64_t ignored_;
    std::string kept_;
};

class OfEntities final : public EvalMetrics {
public:
    OfEntities(std::vector<std::string> names, std::int64_t ignored)
        : names_(std::move(names)), ignored_(ignored) {}

    // Of each sequence how many labels it has, then each predicted and right one.
    std::vector<double> numbers(const Batch& batch, const model::TaskResult& task) const override {
        const LabelPairs labels(task);
        std::vector<double> told;
        for (const auto& [begin, end] : places_of(batch.source)) {
            const auto length = told.size();
            told.push_back(0.0);
            for (auto i = begin; i < end; ++i) {
                if (labels.right(i) == ignored_) continue;
                told[length] += 1.0;
                told.push_back(static_cast<double>(labels.told(i)));
                told.push_back(static_cast<double>(labels.right(i)));
            }
        }
        return told;
    }
    void add(std::span<const double> numbers) override {
        const auto name = [&](double label) { return names_[static_cast<std::size_t>(label)]; };
        while (!numbers.empty()) {
            const auto length = static_cast<std::size_t>(numbers[0]);
            std::vector<std::string> told_labels, right_labels;
            for (std::size_t i = 0; i < length; ++i) {
                told_labels.push_back(name(numbers[1 + 2 * i]));
                right_labels.push_back(name(numbers[2 + 2 * i]));
            }
            counts_.add(told_labels, right_labels);
            numbers = numbers.subspan(1 + 2 * length);
        }
    }
    score::Metrics result() const override { return counts_.metrics(); }

private:
    std::vector<std::string> names_;
    std::int64_t ignored_;
    score::EntityCounts counts_;
};

}  // namespace

std::unique_ptr<EvalMetrics> eval_metrics(const config::Config& config, const data::LabelScale& scale) {
    using Kind = config::TaskKind;
    auto names = data::label_names(config);
    if (config.task.kind == Kind::regression) return std::make_unique<OfRegression>(std::move(names), scale);
    if (config.task.kind == Kind::multi_label) return std::make_unique<OfMultiLabel>(std::move(names));
    if (config::marks_entities(config.task))
        return std::make_unique<OfEntities>(std::move(names), config.loss.ignore_index);
    if (config.task.predicts_tokens()) return nullptr;
    return std::make_unique<OfClasses>(std::move(names), config.loss.ignore_index,
                                       config::kept_metric(config.train));
}

}  // namespace switchyard::train

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

    void add(const Batch&, const model::TaskResult& task) override {
        const Table predicted(task.logits), right(task.targets);
        for (std::int64_t row = 0; row < predicted.rows(); ++row) {
            for (std::size_t i = 0; i < columns_.size(); ++i) {
                const double target = right.row(row)[i];
                if (!std::isnan(target))
                    columns_[i].add(scale_.value(i, predicted.row(row)[i]), scale_.value(i, target));
            }
        }
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

    void add(const Batch&, const model::TaskResult& task) override {
        const Table logits(task.logits), right(task.targets);
        for (std::int64_t row = 0; row < logits.rows(); ++row) counts_.add(logits.row(row), right.row(row));
    }
    score::Metrics result() const override { return counts_.metrics(names_); }

private:
    std::vector<std::string> names_;
    score::MultiLabelCounts counts_;
};

// Places of each sequence's tokens in a row of all tokens of a batch, padded places included.
std::vector<std::pair<std::int64_t, std::int64_t>> sequences_of(const TokenBatch& side) {
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
    OfClasses(std::vector<std::string> names, std::int64_t ignored)
        : matrix_(std::move(names)), ignored_(ignored) {}

    void add(const Batch&, const model::TaskResult& task) override {
        if (!task.logits.defined() || task.logits.size(0) == 0) return;
        const LabelPairs labels(task);
        for (std::int64_t row = 0; row < labels.rows(); ++row) {
            if (labels.right(row) == ignored_) continue;
            matrix_.add(static_cast<std::size_t>(labels.right(row)),
                        static_cast<std::size_t>(labels.told(row)));
        }
    }
    score::Metrics result() const override { return matrix_.metrics(); }
    const score::ConfusionMatrix* confusion() const override {
        return matrix_.total() > 0 ? &matrix_ : nullptr;
    }

private:
    score::ConfusionMatrix matrix_;
    std::int64_t ignored_;
};

class OfEntities final : public EvalMetrics {
public:
    OfEntities(std::vector<std::string> names, std::int64_t ignored)
        : names_(std::move(names)), ignored_(ignored) {}

    void add(const Batch& batch, const model::TaskResult& task) override {
        const LabelPairs labels(task);
        for (const auto& [begin, end] : sequences_of(batch.source)) {
            std::vector<std::string> told_labels, right_labels;
            for (auto i = begin; i < end; ++i) {
                if (labels.right(i) == ignored_) continue;
                told_labels.push_back(names_[static_cast<std::size_t>(labels.told(i))]);
                right_labels.push_back(names_[static_cast<std::size_t>(labels.right(i))]);
            }
            counts_.add(told_labels, right_labels);
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
    return std::make_unique<OfClasses>(std::move(names), config.loss.ignore_index);
}

}  // namespace switchyard::train

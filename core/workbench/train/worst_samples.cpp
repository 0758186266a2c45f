#include "core/workbench/train/worst_samples.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/metric_names.h"

namespace switchyard::train {
namespace {

constexpr std::size_t kept_samples = 10;

double rank(const WorstSample& sample) {
    return std::isnan(sample.loss) ? std::numeric_limits<double>::infinity() : sample.loss;
}

bool is_worse(const WorstSample& a, const WorstSample& b) {
    if (rank(a) != rank(b)) return rank(a) > rank(b);
    return a.sample < b.sample;
}

at::Tensor on_host(const at::Tensor& tensor) { return tensor.to(at::kCPU, at::kDouble).contiguous(); }

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.5g", value);
    return text;
}

}  // namespace

WorstSamples::WorstSamples(const config::Config& config, data::LabelScale scale)
    : kind_(config.task.kind), labels_(config::label_names(config)), scale_(std::move(scale)) {}

void WorstSamples::keep(WorstSample sample) {
    if (kept_.size() == kept_samples && !is_worse(sample, kept_.front())) return;
    if (kept_.size() == kept_samples) {
        std::pop_heap(kept_.begin(), kept_.end(), is_worse);
        kept_.pop_back();
    }
    kept_.push_back(std::move(sample));
    std::push_heap(kept_.begin(), kept_.end(), is_worse);
}

void WorstSamples::add_classes(const Batch& batch, const model::TaskResult& task) {
    const auto logits = on_host(task.logits.detach()).log_softmax(1).contiguous();
    const auto targets = task.targets.to(at::kCPU).contiguous();
    const auto* const right = targets.const_data_ptr<std::int64_t>();
    const auto* row = logits.const_data_ptr<double>();
    const auto classes = logits.size(1);
    for (std::int64_t i = 0; i < logits.size(0); ++i, row += classes) {
        if (right[i] < 0 || right[i] >= classes) continue;
        const auto told = static_cast<std::size_t>(std::max_element(row, row + classes) - row);
        keep({batch.samples[static_cast<std::size_t>(i)], -row[right[i]],
              labels_[static_cast<std::size_t>(right[i])], std::isnan(row[told]) ? "nan" : labels_[told]});
    }
}

void WorstSamples::add_numbers(const Batch& batch, const model::TaskResult& task) {
    const auto predicted = on_host(task.logits.detach()), targets = on_host(task.targets);
    const auto columns = static_cast<std::size_t>(predicted.size(1));
    const auto* told = predicted.const_data_ptr<double>();
    const auto* right = targets.const_data_ptr<double>();
    for (std::int64_t i = 0; i < predicted.size(0); ++i, told += columns, right += columns) {
        WorstSample sample{batch.samples[static_cast<std::size_t>(i)], 0.0, "", ""};
        int labels = 0;
        for (std::size_t c = 0; c < columns; ++c) {
            if (std::isnan(right[c])) continue;
            ++labels;
            sample.loss += (told[c] - right[c]) * (told[c] - right[c]);
            base::add_item(sample.label, number_text(scale_.value(c, right[c])));
            base::add_item(sample.predicted, number_text(scale_.value(c, told[c])));
        }
        if (labels == 0) continue;
        sample.loss /= labels;
        keep(std::move(sample));
    }
}

void WorstSamples::add(const Batch& batch, const model::TaskResult& task) {
    using Kind = config::TaskKind;
    if (!task.logits.defined() || task.logits.size(0) != static_cast<std::int64_t>(batch.samples.size()))
        return;
    if (kind_ == Kind::classification || kind_ == Kind::next_sentence) add_classes(batch, task);
    if (kind_ == Kind::regression) add_numbers(batch, task);
}

std::vector<WorstSample> WorstSamples::samples() const {
    auto sorted = kept_;
    std::sort(sorted.begin(), sorted.end(), is_worse);
    return sorted;
}

}  // namespace switchyard::train

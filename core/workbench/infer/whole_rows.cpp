#include "core/workbench/infer/whole_rows.h"

#include <stdexcept>
#include <utility>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/tensor.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/reference/collate.h>
#include "core/kernel/runtime/operations/move_batch.h"

namespace switchyard::infer {

WholeRows::WholeRows(const config::Config& config, const model::BoundPlan& plan, const model::Model& model,
                     std::int64_t filling, model::TensorRanks* ranks)
    : plan_(plan), model_(model), ranks_(ranks), device_(to_device_type(config.run.device)) {
    params_.max_length = config.batch.max_length;
    params_.pad_id = filling;
    params_.pad_multiple = config.batch.pad_multiple;
    params_.layout = config.batch.planned_layout();
    plan_.precision().begin_step();
}

WholeRows::~WholeRows() { plan_.precision().end_step(); }

at::Tensor WholeRows::begin(const std::vector<Beginning>& rows) {
    rows_ = rows;
    return last_logits(1).squeeze(1);
}

at::Tensor WholeRows::append(const std::vector<Ids>& tokens) {
    if (tokens.size() != rows_.size() || tokens.empty() || tokens.front().empty())
        throw std::invalid_argument("append: expected tokens for each of " + std::to_string(rows_.size()) +
                                    " rows");
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens[i].size() != tokens.front().size())
            throw std::invalid_argument("append: expected as many tokens for each row");
        rows_[i].grown.insert(rows_[i].grown.end(), tokens[i].begin(), tokens[i].end());
    }
    return last_logits(static_cast<std::int64_t>(tokens.front().size()));
}

void WholeRows::select(const std::vector<std::int64_t>& rows) {
    std::vector<Beginning> selected;
    selected.reserve(rows.size());
    for (const auto row : rows) selected.push_back(rows_.at(static_cast<std::size_t>(row)));
    rows_ = std::move(selected);
}

void WholeRows::take_back(const std::vector<std::int64_t>& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
        auto& grown = rows_.at(i).grown;
        const auto count = static_cast<std::size_t>(counts[i]);
        if (counts[i] < 0 || count >= grown.size())
            throw std::invalid_argument("take_back: " + std::to_string(counts[i]) + " of " +
                                        std::to_string(grown.size()) + " tokens of a row");
        grown.resize(grown.size() - count);
    }
}

at::Tensor WholeRows::last_logits(std::int64_t count) const {
    const at::NoGradGuard no_grad;
    std::vector<Sample> samples;
    std::vector<std::int64_t> indices;
    for (const auto& row : rows_) {
        if (static_cast<std::int64_t>(row.grown.size()) > params_.max_length)
            throw std::invalid_argument("a row of " + std::to_string(row.grown.size()) +
                                        " tokens; expected at most batch.max_length, " +
                                        std::to_string(params_.max_length));
        indices.push_back(static_cast<std::int64_t>(samples.size()));
        samples.push_back(row.source.empty() ? Sample{row.grown, {}, {}, {}, {}}
                                             : Sample{row.source, {}, row.grown, {}, {}});
    }
    auto batch = reference::collate(samples, indices, params_, true);
    if (device_ != c10::DeviceType::CPU) runtime::move_batch(batch, device_);
    model::ForwardContext context;
    context.phase = Phase::eval;
    context.ranks = ranks_;
    const auto all = model_.logits(context, batch);
    const bool packed = params_.layout == Layout::packed;
    const auto width = model_.output_side(batch).ids.size(-1);
    std::vector<std::int64_t> places;
    std::int64_t before = 0;
    for (const auto& row : rows_) {
        const auto length = static_cast<std::int64_t>(row.grown.size());
        for (auto i = length - count; i < length; ++i) places.push_back(before + i);
        before += packed ? length : width;
    }
    return all.index_select(0, at::tensor(places, at::kLong).to(all.device()))
        .to(at::kFloat)
        .view({static_cast<std::int64_t>(rows_.size()), count, all.size(-1)});
}

}  // namespace switchyard::infer

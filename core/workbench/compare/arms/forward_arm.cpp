#include "core/workbench/compare/arms/forward_arm.h"

#include <algorithm>
#include <map>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <c10/core/GradMode.h>

#include "core/workbench/compare/arms/drawn_samples.h"
#include "core/workbench/compare/arms/first_step_file.h"
#include "core/workbench/train/step_parts.h"

namespace switchyard::compare {
namespace {

// Rows with a label that each sequence of the batch has, in order; empty: one each.
std::vector<std::int64_t> labelled_rows(const Batch& batch, std::int64_t ignore_index) {
    const auto& side = batch.target.ids.defined() ? batch.target : batch.source;
    if (!batch.labels.defined() || batch.labels.sizes() != side.ids.sizes()) return {};
    const auto labelled = batch.labels.ne(ignore_index).to(at::kCPU, at::kLong);
    std::vector<std::int64_t> rows;
    if (side.tokens.layout == Layout::padded) {
        const auto sums = labelled.sum(1).contiguous();
        rows.assign(sums.const_data_ptr<std::int64_t>(), sums.const_data_ptr<std::int64_t>() + sums.numel());
        return rows;
    }
    const auto ends = side.tokens.cu_seqlens.to(at::kCPU, at::kLong).contiguous();
    const auto* const end = ends.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i + 1 < ends.numel(); ++i)
        rows.push_back(labelled.narrow(0, end[i], end[i + 1] - end[i]).sum().item<std::int64_t>());
    return rows;
}

}  // namespace

ForwardArm::ForwardArm(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                       const HostInfo& host, const ArmServerOptions& options)
    : ArmServer(config, plan, registry, host, options),
      samples_(std::make_shared<data::SampleList>(drawn_samples(session_, options))),
      loader_(session_.start_train_loader(samples_)),
      few_loader_(session_.start_eval_loader(std::make_shared<data::SampleList>(first_samples(*samples_)))) {}

std::vector<ArmServer::Group> ForwardArm::shared_batches() {
    Group group;
    for (Batch batch; loader_.next(batch);) group.push_back(batch);
    return {group};
}

double ForwardArm::pass(const runtime::DataLoaderOp& loader,
                        const std::function<void(const Batch&, const model::TaskResult&)>& use) {
    const c10::NoGradGuard no_gradients;
    const auto& precision = session_.plan().precision();
    model::ForwardContext context;
    context.phase = Phase::eval;
    const auto loss = train::summed_loss(session_.config());
    std::vector<at::Tensor> sums, counts;  // read at the end: a device is not waited for between batches
    precision.begin_step();
    for (Batch batch; loader.next(batch);) {
        const auto result = session_.model().task(context, batch, loss);
        sums.push_back(result.loss.loss);
        counts.push_back(result.loss.count);
        use(batch, result);
    }
    precision.end_step();
    const auto total = [](const std::vector<at::Tensor>& values) {
        return at::stack(values).sum(at::kDouble).item<double>();
    };
    return total(sums) / std::max(1.0, total(counts));
}

ArmServer::First ForwardArm::first() {
    const auto& config = session_.config();
    bool known = true;
    std::multimap<std::int64_t, at::Tensor> by_sample;  // the sequences of a sample keep their order
    First first;
    few_loader_.seek({});
    first.loss = pass(few_loader_, [&](const Batch& batch, const model::TaskResult& result) {
        const auto logits = labelled_logits(config, result);
        const auto rows = labelled_rows(batch, config.loss.ignore_index);
        std::int64_t all = rows.empty() ? static_cast<std::int64_t>(batch.samples.size()) : 0;
        for (const auto one : rows) all += one;
        known = known && logits.defined() && logits.size(0) == all;
        if (!known) return;
        std::int64_t row = 0;
        for (std::size_t i = 0; i < batch.samples.size(); ++i) {
            const auto own = rows.empty() ? 1 : rows[i];
            by_sample.emplace(batch.samples[i], logits.narrow(0, row, own));
            row += own;
        }
    });
    if (!known) return first;
    std::vector<at::Tensor> ordered;
    for (const auto& [sample, logits] : by_sample) ordered.push_back(logits);
    first.logits = at::cat(ordered);
    return first;
}

void ForwardArm::run_one(Turn& turn) {
    std::int64_t samples = 0, tokens = 0;
    turn.loss.push_back(pass(loader_, [&](const Batch& batch, const model::TaskResult&) {
        samples += train::sample_count(batch);
        tokens += batch.source.count + batch.target.count;
    }));
    turn.step_samples.push_back(samples);
    turn.step_tokens.push_back(tokens);
}

}  // namespace switchyard::compare

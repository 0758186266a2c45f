#include "core/workbench/compare/arms/arm_server.h"

#include <cmath>
#include <limits>
#include <map>

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>

#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/relative_distance.h"
#include "core/workbench/compare/arms/executed_json.h"
#include "core/workbench/compare/arms/shared_batches.h"
#include "core/workbench/model/weights/huggingface_family.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/tensors.h"

namespace switchyard::compare {
namespace {

constexpr std::int64_t random_steps = 64;  // before the random samples come again
constexpr double perturbation = 0x1p-8;    // of every weight, relative: bfloat16's rounding

c10::Device device_of(const config::Config& config) {
    return config.run.device == Device::cuda ? c10::Device(c10::DeviceType::CUDA, 0)
                                             : c10::Device(c10::DeviceType::CPU);
}

}  // namespace

ArmServer::ArmServer(const config::Config& config, const resolver::Plan& plan, runtime::Registry& registry,
                     const HostInfo& host, const ArmServerOptions& options)
    : options_(options),
      device_(device_of(config)),
      session_(config, plan, registry, host),
      trainer_(make_trainer(options)),
      clock_([device = device_] { bench::synchronize(device); }) {}

train::Trainer ArmServer::make_trainer(const ArmServerOptions& options) {
    const auto& config = session_.config();
    if (config.data.given()) {
        session_.load_tokenizer();
        session_.load_data();
        session_.load_initial_weights();
        return session_.make_trainer();
    }
    session_.load_initial_weights();
    const auto& batch = config.batch;
    const auto a_batch =
        batch.tokens > 0 ? std::min(batch.size, batch.most_tokens() / batch.max_length * 2) : batch.size;
    const auto a_step = a_batch * config.train.grad_accumulation_steps;
    samples_ = random_samples(config, random_steps * a_step, options.lengths,
                              static_cast<std::uint64_t>(config.run.seed));
    return session_.make_trainer(samples_);
}

ArmServer::Group ArmServer::next_group() {
    if (next_ < kept_.size() || options_.cycle > 0) return kept_[next_++ % kept_.size()];
    ++next_;
    return trainer_.next_group();
}

ArmServer::First ArmServer::first_step(Group& group) {
    const auto& precision = session_.plan().precision();
    First first;
    trainer_.set_dropout(false);
    precision.begin_step();
    {
        const c10::NoGradGuard no_gradients;
        model::ForwardContext context;
        context.phase = Phase::train;
        context.dropout_on = false;
        LossParams loss;
        loss.loss = session_.config().task.loss();
        loss.ignore_index = session_.config().loss.ignore_index;
        const auto result = session_.model().task(context, group.front(), loss);
        // A model may leave rows without a label out, or not.
        if (result.logits.defined() && session_.config().task.float_labels()) {
            first.logits = result.logits;
        } else if (result.logits.defined()) {
            const auto labelled = result.targets.ne(loss.ignore_index).nonzero().squeeze(1);
            first.logits = result.logits.index_select(0, labelled);
        }
    }
    first.loss = trainer_.accumulate(group);
    first.gradients = trainer_.unscaled_gradients();
    precision.end_step();
    session_.parameters().zero_gradients();
    trainer_.set_dropout(true);
    return first;
}

// Every weight is moved by a small relative amount of random sign, as rounding would: what comes of it shows
// how much this very model, with these weights and this batch, magnifies rounding (Parker 1997, "Monte Carlo
// Arithmetic", takes the same view).
Drift ArmServer::amplification(Group& group, const First& exact) {
    const c10::NoGradGuard no_gradients;
    auto generator = at::globalContext().defaultGenerator(c10::DeviceType::CPU).clone();
    generator.set_current_seed(1);
    std::vector<at::Tensor> kept;
    for (const auto& parameter : session_.parameters().all()) {
        const auto value = parameter.value.detach();
        kept.push_back(value.clone());
        const auto signs = at::empty_like(value, value.options().device(at::kCPU)).bernoulli_(0.5, generator);
        value.mul_(signs.mul_(2.0 * perturbation).add_(1.0 - perturbation).to(value.device()));
    }
    First moved;
    {
        const c10::AutoGradMode gradients(true);
        moved = first_step(group);
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
        session_.parameters().all()[i].value.detach().copy_(kept[i]);
    return {std::abs(moved.loss - exact.loss) / std::max(std::abs(exact.loss), 1e-30) / perturbation,
            bench::relative_distance({moved.logits}, {exact.logits}) / perturbation,
            bench::relative_distance(moved.gradients, exact.gradients) / perturbation};
}

void ArmServer::write_first_step(const First& first) {
    std::map<std::string, at::Tensor> gradients;
    const auto& parameters = session_.parameters().all();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const auto& found = first.gradients[i];
        gradients[parameters[i].name] =
            found.defined() ? found : at::zeros_like(parameters[i].value, at::kFloat);
    }
    std::vector<model::NamedTensor> tensors;
    if (first.logits.defined()) tensors.push_back({"logits", first.logits.to(at::kFloat)});
    for (const auto& theirs :
         model::their_tensors(model::family_of(session_.config()), session_.parameters())) {
        tensors.push_back(
            {"gradient." + theirs.name,
             model::in_their_form(theirs, [&](const std::string& ours) { return gradients.at(ours); })});
    }
    if (const auto error = model::write_safetensors(options_.first_step_file, tensors, {}))
        throw std::runtime_error(*error);
}

void ArmServer::export_inputs() {
    const auto& folder = options_.export_folder;
    if (const auto error = model::save_weights(folder + "/weights", session_.config(), session_.parameters()))
        throw std::runtime_error(*error);
    if (const auto error = write_shared_batches(folder + "/batches.safetensors", kept_))
        throw std::runtime_error(*error);
}

Ready ArmServer::prepare() {
    do kept_.push_back(trainer_.next_group());
    while (static_cast<std::int64_t>(kept_.size()) < options_.cycle);
    Ready ready;
    ready.description = "switchyard";
    ready.dtype = std::string(name(session_.plan().precision().compute(OpClass::linear, "model")));
    if (!options_.export_folder.empty()) export_inputs();
    const auto first = first_step(kept_.front());
    ready.loss = first.loss;
    if (!options_.first_step_file.empty()) {
        write_first_step(first);
        ready.first_step_written = true;
    }
    if (options_.amplification) ready.amplification = amplification(kept_.front(), first);
    before_ = session_.executed();
    return ready;
}

Turn ArmServer::run(std::int64_t steps) {
    Turn turn;
    bench::reset_peak_memory(device_);
    const auto switches_before = clock_.involuntary_switches();
    for (std::int64_t step = 0; step < steps; ++step) {
        const double start = clock_.now_ms();
        auto group = next_group();
        const auto report = trainer_.step(group);
        turn.step_ms.push_back(clock_.now_ms() - start);
        turn.skipped += report.skipped ? 1 : 0;
        turn.step_skipped.push_back(report.skipped ? 1 : 0);
        // A step that was skipped has done what it should with what was not finite.
        const double stopped = std::numeric_limits<double>::quiet_NaN();
        turn.loss.push_back(report.skipped && !std::isfinite(report.loss)  ? 0.0
                            : !report.skipped && !report.nonfinite.empty() ? stopped
                                                                           : report.loss);
        turn.step_samples.push_back(report.samples);
        turn.step_tokens.push_back(report.tokens);
        turn.samples += report.samples;
        turn.tokens += report.tokens;
    }
    const auto switches = clock_.involuntary_switches();
    turn.involuntary_switches = switches < 0 ? -1 : switches - switches_before;
    turn.peak_memory_bytes = bench::peak_memory(device_);
    turn.executed = executed_json(session_.executed(), before_);
    return turn;
}

Drift drift_between(const std::string& base, const std::string& arm) {
    const auto ours = model::SafetensorsFile::open(arm), theirs = model::SafetensorsFile::open(base);
    Drift drift;
    if (!ours.file || !theirs.file) return drift;
    std::vector<at::Tensor> values, bases;
    for (const auto& stored : theirs.file->tensors()) {
        const auto* const same = ours.file->find(stored.name);
        if (same == nullptr || same->shape != stored.shape) continue;
        const auto value = model::view_stored(ours.file, *same),
                   exact = model::view_stored(theirs.file, stored);
        if (stored.name == "logits") {
            drift.output = bench::relative_distance({value}, {exact});
        } else {
            values.push_back(value);
            bases.push_back(exact);
        }
    }
    if (!values.empty()) drift.gradient = bench::relative_distance(values, bases);
    return drift;
}

}  // namespace switchyard::compare

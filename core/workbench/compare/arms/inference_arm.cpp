#include "core/workbench/compare/arms/inference_arm.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>

#include <switchyard/reference/collate.h>
#include "core/workbench/compare/arms/drawn_samples.h"
#include "core/workbench/compare/arms/random_samples.h"

namespace switchyard::compare {
namespace {

// Of the logits that arms are compared by, after those that follow the prompts.
constexpr std::int64_t compared_prompts = 32, compared_tokens = 4;

bool answers(const config::Config& config) { return config.task.kind == config::TaskKind::seq2seq; }

LoaderParams layout_of(const config::Config& config) {
    LoaderParams params;
    params.max_length = config.batch.max_length;
    params.pad_multiple = config.batch.pad_multiple;
    params.layout = config.batch.planned_layout();
    return params;
}

// The likeliest token of each row of logits [R, V].
std::vector<infer::Ids> likeliest(const at::Tensor& logits) {
    const auto best = at::argmax(logits, -1).to(at::kCPU).contiguous();
    std::vector<infer::Ids> tokens;
    for (std::int64_t row = 0; row < best.numel(); ++row)
        tokens.push_back({best.const_data_ptr<std::int64_t>()[row]});
    return tokens;
}

void require_finite(const at::Tensor& logits, const std::string& otherwise) {
    if (!logits.isfinite().all().item<bool>()) throw std::runtime_error(otherwise);
}

// Rows of real tokens, [sequences, longest] or [total] in a row.
at::Tensor real_rows(const at::Tensor& logits, const TokenBatch& side) {
    if (logits.size(0) != side.ids.numel() || !side.tokens.lengths.defined()) return logits;
    const auto lengths = side.tokens.lengths.to(at::kLong).unsqueeze(1);
    const auto places = at::arange(side.ids.size(1), lengths.options()).unsqueeze(0);
    return logits.index_select(0, places.lt(lengths).reshape({-1}).nonzero().squeeze(1));
}

// Whether a token after the first reads this parameter as a whole: of tables it looks a row up, and encoder
// states and what is projected of them stand in the cache.
bool is_read(const config::Config& config, std::string_view name) {
    if (answers(config) && (name.starts_with("encoder.") || name.find(".cross.k.") != name.npos ||
                            name.find(".cross.v.") != name.npos))
        return false;
    if (name.starts_with("embeddings.word")) return config.model.tie_embeddings;
    return !name.starts_with("embeddings.position");
}

}  // namespace

InferenceArm::InferenceArm(const config::Config& config, const resolver::Plan& plan,
                           runtime::Registry& registry, const HostInfo& host, const ArmServerOptions& options)
    : ArmServer(config, plan, registry, host, options) {
    for (std::size_t i = 0; i < options.workloads.size(); ++i)
        inputs_.push_back(inputs_of(options.workloads[i], static_cast<std::uint64_t>(config.run.seed) + i));
    begin_rows();
    session_.plan().precision().begin_step();  // weights do not change: what is kept of them stays
}

InferenceArm::Inputs InferenceArm::inputs_of(const Workload& workload, std::uint64_t seed) const {
    const auto& config = session_.config();
    const auto drawn = sequences(workload, seed);
    const auto at_once = options_.samples > 0 ? config.batch.size : workload.batch;
    const bool has_encoder = answers(config);
    std::vector<Sample> samples;
    std::vector<std::int64_t> indices;
    Inputs inputs;
    for (std::int64_t i = 0; i < drawn.size(); ++i) {
        auto sample = drawn.get(i, 0);
        if (i % at_once == 0) inputs.prompts.emplace_back();
        inputs.prompts.back().push_back(has_encoder ? infer::Beginning{sample.ids, {0}}
                                                    : infer::Beginning{{}, sample.ids});
        samples.push_back(has_encoder ? Sample{std::move(sample.ids), {}, {0}, {}, {}} : std::move(sample));
        indices.push_back(i);
    }
    inputs.batch = reference::collate(samples, indices, layout_of(config), config.task.label_per_token());
    return inputs;
}

// Where the job has fewer they come again.
data::SampleList InferenceArm::sequences(const Workload& workload, std::uint64_t seed) const {
    const auto& config = session_.config();
    if (options_.samples == 0 || !config.data.given())
        return random_samples(config, workload.batch, workload.lengths, seed);
    const auto drawn = drawn_samples(session_, options_);
    data::SampleList prompts;
    for (std::int64_t i = 0; i < workload.batch; ++i) {
        auto ids = drawn.get(i % drawn.size(), 0).ids;
        ids.resize(std::min(ids.size(), static_cast<std::size_t>(workload.lengths.max)));
        prompts.add({std::move(ids), {}, {}, {}, {}});
    }
    return prompts;
}

std::vector<ArmServer::Group> InferenceArm::shared_batches() {
    std::vector<Group> groups;
    for (const auto& inputs : inputs_) {
        Batch batch = inputs.batch;
        batch.labels.reset();
        batch.float_labels.reset();
        groups.push_back({batch});
    }
    return groups;
}

at::Tensor InferenceArm::forward(const Batch& batch) const {
    model::ForwardContext context;
    context.phase = Phase::eval;
    return session_.model().logits(context, batch);
}

ArmServer::First InferenceArm::first() {
    const at::NoGradGuard no_grad;
    const auto& batch = inputs_.front().batch;
    First first;
    if (grown_.rows)
        first = first_tokens();
    else
        first.logits = real_rows(forward(batch), session_.model().output_side(batch)).to(at::kFloat);
    first.loss = std::numeric_limits<double>::quiet_NaN();
    for (const auto& outputs : {first.logits, first.further})
        if (outputs.defined()) require_finite(outputs, "the outputs of the first sequences are not finite");
    return first;
}

ArmServer::First InferenceArm::first_tokens() {
    const auto& workload = options_.workloads.front();
    const auto count = std::min(compared_tokens, workload.tokens - 1);
    data::SampleList given;
    if (count > 0)
        given = random_samples(session_.config(), workload.batch, bench::LengthRange{count, count, 0},
                               static_cast<std::uint64_t>(session_.config().run.seed));
    std::vector<at::Tensor> logits, further;
    std::int64_t before = 0;
    for (const auto& prompts : inputs_.front().prompts) {
        logits.push_back(grown_.rows->begin(prompts).to(at::kFloat));
        const auto rows = static_cast<std::int64_t>(prompts.size());
        const auto compared = std::min(rows, compared_prompts - before);
        std::vector<at::Tensor> steps;
        for (std::int64_t step = 0; step < count && compared > 0; ++step) {
            std::vector<infer::Ids> tokens;
            for (std::int64_t row = 0; row < rows; ++row)
                tokens.push_back({given.get(before + row, 0).ids[static_cast<std::size_t>(step)]});
            // Off the device: a captured step writes over the logits of the one before.
            steps.push_back(grown_.rows->append(tokens).narrow(0, 0, compared).to(at::kCPU, at::kFloat));
        }
        if (!steps.empty()) further.push_back(at::cat(steps, 1));
        before += rows;
    }
    First first;
    first.logits = at::cat(logits);
    if (!further.empty()) first.further = at::cat(further);
    return first;
}

std::int64_t InferenceArm::row_bytes() const { return grown_.rows ? grown_.cache_bytes() : 0; }

void InferenceArm::choose(std::size_t workload) {
    if (workload >= inputs_.size())
        throw std::runtime_error("\"workload\": there are " + std::to_string(inputs_.size()) + ", got " +
                                 std::to_string(workload));
    if (chosen_ == workload) return;
    chosen_ = workload;
    begin_rows();
}

// The memory of another workload's rows goes first.
void InferenceArm::begin_rows() {
    grown_ = {};
    if (options_.operation == Operation::generate)
        grown_ = make_grown_rows(session_, options_.cached,
                                 cache_limits(options_.workloads[chosen_], session_.config()));
}

void InferenceArm::run_one(Turn& turn) {
    const at::NoGradGuard no_grad;
    const auto& batch = inputs_[chosen_].batch;
    (void)forward(batch);
    turn.loss.push_back(std::numeric_limits<double>::quiet_NaN());
    turn.step_samples.push_back(options_.workloads[chosen_].batch);
    turn.step_tokens.push_back(batch.source.count);
}

Generation InferenceArm::generate(std::int64_t passes) {
    Generation generation;
    measure(generation, [&] {
        for (std::int64_t pass = 0; pass < passes; ++pass) generate_one(generation);
    });
    generation.prompt_tokens = inputs_[chosen_].batch.source.count;
    generation.read_bytes = read_bytes();
    return generation;
}

void InferenceArm::generate_one(Generation& generation) {
    const at::NoGradGuard no_grad;
    generation.generated.clear();
    generation.prefill_ms.push_back(0.0);
    const auto further = static_cast<std::size_t>(options_.workloads[chosen_].tokens - 1);
    generation.token_ms.emplace_back(further, 0.0);
    const double start = clock_.now_ms();
    at::Tensor logits;
    for (const auto& prompts : inputs_[chosen_].prompts) logits = write_after(prompts, generation);
    bench::take_longer(clock_, start, options_.slowed);
    generation.step_ms.push_back(clock_.now_ms() - start);
    generation.cache_bytes = grown_.cache_bytes();
    require_finite(logits, "the logits of the last token are not finite");
}

// Times of several batches add up. Returns the logits that the last token was chosen from.
at::Tensor InferenceArm::write_after(const std::vector<infer::Beginning>& prompts, Generation& generation) {
    auto& generated = generation.generated;
    const auto first = generated.size();
    generated.resize(first + prompts.size());
    const auto keep = [&](const std::vector<infer::Ids>& next) {
        for (std::size_t row = 0; row < next.size(); ++row)
            generated[first + row].push_back(next[row].front());
    };
    double last = clock_.now_ms();
    const auto lap = [&] {
        const double now = clock_.now_ms(), ms = now - last;
        last = now;
        return ms;
    };
    auto& rows = *grown_.rows;
    auto logits = rows.begin(prompts);
    auto next = likeliest(logits);
    generation.prefill_ms.back() += lap();
    keep(next);
    for (auto& token_ms : generation.token_ms.back()) {
        logits.reset();
        logits = rows.append(next).select(1, 0);
        next = likeliest(logits);
        token_ms += lap();
        keep(next);
    }
    return logits;
}

std::int64_t InferenceArm::read_bytes() {
    const auto& weights = *session_.plan().precision().weights();
    std::int64_t bytes = weights.quantized_bytes();
    for (const auto& parameter : session_.parameters().all()) {
        if (is_read(session_.config(), parameter.name)) bytes += weights.read_bytes(parameter.value);
    }
    return bytes;
}

}  // namespace switchyard::compare

#include "decoding_model.h"

#include <stdexcept>
#include <utility>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include "core/kernel/config/load.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/data/splitmix64.h"
#include "core/workbench/model/planning.h"

#include "built_plugins.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

const HostInfo& host() {
    static const HostInfo info = host_of(2);
    return info;
}

runtime::Registry& registry() {
    static runtime::Registry found(built_plugins({"naive", "torch", "chunked", "flash"}, host()));
    return found;
}

config::Config configured(const DecodingFamily& family, const std::string& attention,
                          std::vector<std::string> overrides) {
    std::vector<std::string> all{"model.layers=2",
                                 "model.hidden_size=32",
                                 "model.heads=4",
                                 "model.intermediate_size=48",
                                 "model.vocab_size=50",
                                 "model.max_positions=64",
                                 "model.dropout=0.0",
                                 "model.attention_dropout=0.0",
                                 "batch.size=4",
                                 "batch.max_length=32",
                                 "attention.backend=" + attention,
                                 "precision.backend=naive/reference",
                                 "run.phases=[\"train\", \"eval\", \"prefill\", \"decode\"]"};
    for (const char* slot : {"normalization", "activation", "loss", "linear"})
        all.push_back(std::string(slot) + ".backend=naive");
    all.insert(all.end(), family.model.begin(), family.model.end());
    all.insert(all.end(), std::make_move_iterator(overrides.begin()),
               std::make_move_iterator(overrides.end()));
    config::LoadRequest request;
    request.overrides = all;
    const auto result = config::load(request);
    std::string problems;
    for (const auto& problem : result.problems) problems += problem.key + ": " + problem.message + "\n";
    if (!result.config) throw std::runtime_error(problems);
    return *result.config;
}

resolver::Plan planned(const config::Config& config) {
    auto plan = model::make_plan(config, registry(), host());
    for (const auto& row : plan.rows) {
        if (!row.chosen) throw std::runtime_error(row.use.slot + ": " + row.error);
    }
    return plan;
}

// Large enough for scores and logits to differ from token to token.
void fill(const model::Parameters& parameters) {
    const at::NoGradGuard no_grad;
    auto generator = at::detail::createCPUGenerator(20);
    for (const auto& parameter : parameters.all()) {
        auto values = at::empty(parameter.value.sizes(), at::kFloat);
        const auto rows = parameter.value.dim() < 2 ? 100.0 : static_cast<double>(parameter.value.size(-1));
        values.normal_(0.0, 2.0 / std::sqrt(rows), generator);
        if (parameter.name.ends_with("norm.weight")) values.add_(1.0);
        parameter.value.copy_(values);
    }
}

TokenBatch alone(const infer::Ids& ids) {
    TokenBatch batch;
    batch.ids = at::tensor(ids, at::kLong).unsqueeze(0);
    batch.count = batch.ids.size(1);
    return batch;
}

}  // namespace

const std::vector<DecodingFamily>& decoding_families() {
    static const std::vector<DecodingFamily> all{
        {"gpt, learned", {"model.type=gpt"}},
        {"gpt, sinusoidal, post-norm",
         {"model.type=gpt", "model.positions=sinusoidal", "model.norm_position=post"}},
        {"gpt, rotary, grouped heads",
         {"model.type=gpt", "model.positions=rotary", "model.kv_heads=2", "model.norm=rms_norm",
          "model.activation=swiglu", "model.bias=false", "model.tie_embeddings=false"}},
        {"gpt, alibi, window", {"model.type=gpt", "model.positions=alibi", "model.window=4"}},
        {"gpt, prefix", {"model.type=gpt", "model.prefix=6"}},
        {"gpt, rotary, window, prefix",
         {"model.type=gpt", "model.positions=rotary", "model.window=3", "model.prefix=4"}},
        {"gpt, soft cap", {"model.type=gpt", "model.soft_cap=2.0"}, true},
        {"t5", {"model.type=t5", "model.head_dim=12"}},
        {"t5, gated, grouped heads",
         {"model.type=t5", "model.kv_heads=2", "model.activation=geglu_tanh", "model.tie_embeddings=false"}},
    };
    return all;
}

DecodingModel::DecodingModel(const DecodingFamily& family, const std::string& attention,
                             std::vector<std::string> overrides)
    : config(configured(family, attention, std::move(overrides))),
      resolved(planned(config)),
      plan(std::make_unique<model::BoundPlan>(resolved, registry(), host())),
      model(model::make_model(config, *plan, parameters)) {
    fill(parameters);
}

at::Tensor uncached_logits(const DecodingModel& model, const std::vector<infer::Beginning>& rows,
                           std::int64_t count) {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> logits;
    for (const auto& row : rows) {
        Batch batch;
        const bool reads_source = !row.source.empty();
        batch.source = alone(reads_source ? row.source : row.grown);
        if (reads_source) batch.target = alone(row.grown);
        const auto all = model.model->logits({}, batch);
        logits.push_back(all.narrow(0, all.size(0) - count, count).to(at::kDouble));
    }
    return at::stack(logits);
}

infer::Ids drawn_tokens(std::int64_t count, std::int64_t size, std::uint64_t seed) {
    data::SplitMix64 random(seed, 0, 0);
    infer::Ids ids;
    for (std::int64_t i = 0; i < count; ++i)
        ids.push_back(static_cast<std::int64_t>(random.share() * static_cast<double>(size)));
    return ids;
}

}  // namespace switchyard::test

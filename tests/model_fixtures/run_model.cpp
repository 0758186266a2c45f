#include "run_model.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <switchyard/config/load.h>
#include <switchyard/host/discovery.h>
#include <switchyard/host/plugin_library.h>
#include <switchyard/model/bert.h>
#include <switchyard/model/planning.h>
#include <switchyard/model/weights/huggingface_names.h>

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

constexpr double tolerance = 1e-4;

const HostInfo& host() {
    static const HostInfo info = [] {
        HostInfo made;
        made.cores = 2;
        return made;
    }();
    return info;
}

host::Registry& registry() {
    static host::Registry found([] {
        host::DiscoveryOptions options;
        options.run_probes = false;
        const auto folder = build_dir() / "lib/switchyard/plugins";
        options.path.entries = {{(folder / "libnaive.so").string(), "test", true},
                                {(folder / "libtorch.so").string(), "test", true}};
        return host::discover(options, host());
    }());
    return found;
}

resolver::Plan planned(const config::Config& config) {
    auto plan = model::make_plan(config, registry(), host());
    for (const auto& row : plan.rows) {
        if (!row.chosen) throw std::runtime_error(row.use.slot + ": " + row.error);
    }
    return plan;
}

Batch padded_batch(const FixtureCase& fixture) {
    Batch batch;
    batch.source.ids = fixture["ids"];
    batch.source.segments = fixture["segments"];
    batch.source.tokens.lengths = fixture["lengths"];
    batch.labels = fixture["labels"];
    return batch;
}

Batch packed_batch(const FixtureCase& fixture) {
    Batch batch;
    auto& tokens = batch.source.tokens;
    const auto lengths = fixture["lengths"];
    tokens.layout = Layout::packed;
    tokens.cu_seqlens =
        at::cat({at::zeros({1}, lengths.options()), lengths.cumsum(0).to(lengths.scalar_type())});
    tokens.max_seqlen = lengths.max().item<std::int64_t>();
    const auto ids = fixture["ids"];
    tokens.positions =
        real_tokens(at::arange(ids.size(1), at::TensorOptions().dtype(at::kLong)).expand_as(ids), fixture);
    batch.source.ids = real_tokens(ids, fixture);
    batch.source.segments = real_tokens(fixture["segments"], fixture);
    const auto labels = fixture["labels"];
    batch.labels = labels.dim() == 2 ? real_tokens(labels, fixture) : labels;
    return batch;
}

std::map<std::string, at::Tensor> gradients_of(const model::Parameters& parameters) {
    std::map<std::string, at::Tensor> gradients;
    for (const auto& parameter : parameters.all()) {
        if (!parameter.value.grad().defined()) continue;
        const auto theirs = model::to_huggingface(config::ModelType::bert, parameter.name);
        if (!theirs) throw std::runtime_error(parameter.name + " has no name in transformers");
        gradients[*theirs] = parameter.value.grad();
    }
    return gradients;
}

}  // namespace

config::Config configured(const std::string& backend, Layout layout, std::vector<std::string> overrides) {
    for (const char* slot : {"attention", "normalization", "activation", "loss"})
        overrides.push_back(std::string(slot) + ".backend=" + backend);
    overrides.emplace_back(backend == "torch" ? "precision.backend=torch/fp32"
                                              : "precision.backend=naive/reference");
    overrides.push_back("batch.layout=" + std::string(name(layout)));
    for (const char* common : {"model.type=bert", "model.dropout=0.0", "model.attention_dropout=0.0"})
        overrides.emplace_back(common);
    config::LoadRequest request;
    request.overrides = overrides;
    request.preset_dirs = {(source_dir() / "configs/presets").string()};
    const auto result = config::load(request);
    std::string problems;
    for (const auto& problem : result.problems) problems += problem.key + ": " + problem.message + "\n";
    if (!result.config) throw std::runtime_error(problems);
    return *result.config;
}

std::vector<std::string> tiny_bert() {
    return {"model.layers=2",       "model.hidden_size=32",
            "model.heads=4",        "model.intermediate_size=48",
            "model.vocab_size=100", "model.max_positions=16",
            "model.norm_eps=1e-12", "batch.size=3",
            "batch.max_length=12"};
}

std::string tiny_folder() { return (source_dir() / "tests/fixtures/transformers_tiny").string(); }

Model::Model(config::Config made)
    : config(std::move(made)),
      plan(planned(config), registry(), host()),
      model(model::make_model(config, parameters)) {}

Outputs run(Model& model, const FixtureCase& fixture) {
    const auto layout = model.config.batch.layout;
    const auto batch = layout == Layout::packed ? packed_batch(fixture) : padded_batch(fixture);
    const auto flat = [&](const at::Tensor& x) {
        return layout == Layout::packed ? x : real_tokens(x, fixture);
    };
    Outputs outputs;
    const model::Observer observer = [&](const std::string& place, const at::Tensor& value) {
        const bool layer = place.starts_with("encoder.") && place.find('.', 8) == std::string::npos;
        if (place == "embeddings" || layer) outputs.hidden_TC.push_back(flat(value.detach()));
    };
    model::ForwardContext context;
    context.phase = Phase::train;
    context.observer = &observer;
    model.parameters.zero_gradients();
    const auto result = model.model->task(model.plan, context, batch, {});
    result.loss.loss.backward();
    outputs.loss = result.loss.loss.detach();
    outputs.gradients = gradients_of(model.parameters);

    const at::NoGradGuard no_grad;
    context = {};
    outputs.logits = model.model->logits(model.plan, context, batch);
    if (model.config.task.label_per_token() && layout == Layout::padded) {
        outputs.logits =
            flat(outputs.logits.unflatten(0, {batch.source.ids.size(0), batch.source.ids.size(1)}));
    }
    if (model.parameters.find("pooler.weight") != nullptr) {
        const auto& bert = dynamic_cast<const model::Bert&>(*model.model);
        outputs.pooled = bert.pool(model.plan, bert.hidden(model.plan, context, batch), batch.source.tokens);
    }
    return outputs;
}

at::Tensor real_tokens(const at::Tensor& x, const FixtureCase& fixture) {
    const auto lengths = fixture["lengths"];
    std::vector<at::Tensor> rows;
    for (std::int64_t b = 0; b < lengths.size(0); ++b)
        rows.push_back(x[b].narrow(0, 0, lengths[b].item<std::int64_t>()));
    return at::cat(rows);
}

std::string difference(const at::Tensor& got, const at::Tensor& expected) {
    std::ostringstream text;
    if (!got.defined() || !expected.defined()) return "one of them is missing";
    if (got.sizes() != expected.sizes()) {
        text << "shape " << got.sizes() << ", expected " << expected.sizes();
        return text.str();
    }
    const auto apart = got.to(at::kDouble).sub(expected.to(at::kDouble)).abs().flatten();
    const auto allowed = expected.to(at::kDouble).abs().clamp_min(1.0).mul(tolerance).flatten();
    if ((apart <= allowed).all().item<bool>()) return "";
    const auto where = apart.sub(allowed).argmax().item<std::int64_t>();
    text << "element " << where << " of " << expected.sizes() << ": " << got.flatten()[where].item<double>()
         << ", expected " << expected.flatten()[where].item<double>();
    return text.str();
}

std::string gradient_difference(const at::Tensor& got, const at::Tensor& expected) {
    if (auto text = difference(got, expected); !text.empty()) return text;
    // Rounding alone is left where the true gradient is zero, as that of a key's bias.
    constexpr double rounding = 1e-6;
    const double apart = got.to(at::kDouble).sub(expected.to(at::kDouble)).norm().item<double>();
    const double size = expected.to(at::kDouble).norm().item<double>();
    if (apart <= tolerance * size + rounding) return "";
    return "differs by " + std::to_string(apart) + " in norm, which is " + std::to_string(size);
}

}  // namespace switchyard::test

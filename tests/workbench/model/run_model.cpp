#include "run_model.h"

#include <sstream>
#include <stdexcept>
#include <utility>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include "core/kernel/config/load.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/model/bert.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/their_form.h"

#include "built_plugins.h"

#include <switchyard_test.h>

namespace switchyard::test {
namespace {

constexpr double tolerance = 1e-4;

const HostInfo& host() {
    static const HostInfo info = host_of(2);
    return info;
}

runtime::Registry& registry() {
    static runtime::Registry found(built_plugins({"naive", "torch"}, host()));
    return found;
}

resolver::Plan planned(const config::Config& config) {
    auto plan = model::make_plan(config, registry(), host());
    for (const auto& row : plan.rows) {
        if (!row.chosen) throw std::runtime_error(row.use.slot + ": " + row.error);
    }
    return plan;
}

at::Tensor real_rows(const at::Tensor& x, const at::Tensor& lengths) {
    std::vector<at::Tensor> rows;
    for (std::int64_t b = 0; b < lengths.size(0); ++b)
        rows.push_back(x[b].narrow(0, 0, lengths[b].item<std::int64_t>()));
    return at::cat(rows);
}

at::Tensor output_lengths(const FixtureCase& fixture) {
    return fixture["target_lengths"].defined() ? fixture["target_lengths"] : fixture["lengths"];
}

TokenBatch side(const at::Tensor& ids, const at::Tensor& token_type_ids, const at::Tensor& lengths,
                Layout layout) {
    TokenBatch batch;
    auto& tokens = batch.tokens;
    if (layout == Layout::padded) {
        batch.ids = ids;
        batch.token_type_ids = token_type_ids;
        tokens.lengths = lengths;
        return batch;
    }
    tokens.layout = Layout::packed;
    tokens.cu_seqlens =
        at::cat({at::zeros({1}, lengths.options()), lengths.cumsum(0).to(lengths.scalar_type())});
    tokens.max_seqlen = lengths.max().item<std::int64_t>();
    tokens.positions =
        real_rows(at::arange(ids.size(1), at::TensorOptions().dtype(at::kLong)).expand_as(ids), lengths);
    batch.ids = real_rows(ids, lengths);
    if (token_type_ids.defined()) batch.token_type_ids = real_rows(token_type_ids, lengths);
    return batch;
}

std::map<std::string, at::Tensor> gradients_of(const Model& model) {
    std::map<std::string, at::Tensor> gradients;
    const auto gradient = [&](const std::string& name) { return model.parameters.find(name)->value.grad(); };
    for (const auto& theirs : model::their_tensors(model::family_of(model.config), model.parameters)) {
        if (gradient(theirs.parts.front().ours).defined())
            gradients[theirs.name] = model::in_their_form(theirs, gradient);
    }
    return gradients;
}

}  // namespace

config::Config configured(const std::string& backend, Layout layout, std::vector<std::string> overrides) {
    for (const char* slot : {"attention", "normalization", "activation", "loss", "linear"})
        overrides.push_back(std::string(slot) + ".backend=" + backend);
    overrides.emplace_back(backend == "torch" ? "precision.backend=torch/fp32"
                                              : "precision.backend=naive/reference");
    overrides.push_back("batch.layout=" + std::string(name(layout)));
    for (const char* common : {"model.attention_dropout=0.0", "model.dropout=0.0"})
        overrides.insert(overrides.begin(), common);
    config::LoadRequest request;
    request.overrides = overrides;
    request.preset_dirs = {(source_dir() / "configs/presets").string()};
    request.read_model_folder = model::read_model_folder;
    const auto result = config::load(request);
    std::string problems;
    for (const auto& problem : result.problems) problems += problem.key + ": " + problem.message + "\n";
    if (!result.config) throw std::runtime_error(problems);
    return *result.config;
}

std::vector<std::string> tiny_bert() {
    return {"model.type=bert",
            "model.layers=2",
            "model.hidden_size=32",
            "model.heads=4",
            "model.intermediate_size=48",
            "model.vocab_size=100",
            "model.max_positions=16",
            "model.norm_eps=1e-12",
            "batch.size=3",
            "batch.max_length=12"};
}

std::string tiny_folder() { return (source_dir() / "tests/fixtures/transformers_tiny").string(); }

const std::vector<std::string>& language_models() {
    static const std::vector<std::string> all{"gpt2", "llama", "t5", "t5_gated"};
    return all;
}

std::vector<std::string> language_model(const std::string& name) {
    std::vector<std::string> made{"model.layers=2",      "model.hidden_size=24",   "model.heads=4",
                                  "model.vocab_size=60", "model.max_positions=24", "batch.size=3",
                                  "batch.max_length=24"};
    const auto add = [&](std::initializer_list<const char*> more) {
        made.insert(made.end(), more.begin(), more.end());
    };
    if (name == "gpt2") add({"model.type=gpt", "model.intermediate_size=40"});
    if (name != "gpt2") add({"model.head_dim=8", "model.intermediate_size=32"});
    if (name == "llama") {
        add({"model.type=gpt", "model.kv_heads=2", "model.norm=rms_norm", "model.activation=swiglu",
             "model.positions=rotary", "model.rotary_theta=500.0", "model.bias=false",
             "model.tie_embeddings=false"});
    }
    if (name.starts_with("t5")) add({"model.type=t5"});
    if (name == "t5_gated") add({"model.activation=geglu_tanh", "model.tie_embeddings=false"});
    return made;
}

std::string language_folder(const std::string& name) {
    return (source_dir() / "tests/fixtures/transformers_").string() + name;
}

Model::Model(config::Config made)
    : config(std::move(made)),
      plan(planned(config), registry(), host()),
      model(model::make_model(config, plan, parameters)) {}

Batch batch_of(const FixtureCase& fixture, Layout layout) {
    Batch batch;
    batch.source = side(fixture["ids"], fixture["segments"], fixture["lengths"], layout);
    if (fixture["target_ids"].defined())
        batch.target = side(fixture["target_ids"], {}, fixture["target_lengths"], layout);
    batch.labels = fixture["labels"];
    if (layout == Layout::packed && batch.labels.dim() == 2)
        batch.labels = real_outputs(batch.labels, fixture);
    return batch;
}

Outputs run(Model& model, const FixtureCase& fixture) {
    const auto layout = model.config.batch.planned_layout();
    const auto batch = batch_of(fixture, layout);
    Outputs outputs;
    const model::Observer observer = [&](const std::string& place, const at::Tensor& value) {
        const bool layer = place.starts_with("encoder.") && place.find('.', 8) == std::string::npos;
        if (place != "embeddings" && !layer) return;
        outputs.hidden_TC.push_back(layout == Layout::packed ? value.detach()
                                                             : real_tokens(value.detach(), fixture));
    };
    model::ForwardContext context;
    context.phase = Phase::train;
    context.observer = &observer;
    model.parameters.zero_gradients();
    const auto result = model.model->task(context, batch, {});
    result.loss.loss.backward();
    outputs.loss = result.loss.loss.detach();
    outputs.gradients = gradients_of(model);

    outputs.logits = logits_of(model, fixture);
    const at::NoGradGuard no_grad;
    context = {};
    if (model.parameters.find("pooler.weight") != nullptr) {
        const auto& bert = dynamic_cast<const model::Bert&>(*model.model);
        outputs.pooled = bert.pool(context.phase, bert.hidden(context, batch), batch.source.tokens);
    }
    return outputs;
}

at::Tensor logits_of(const Model& model, const FixtureCase& fixture) {
    const at::NoGradGuard no_grad;
    const auto layout = model.config.batch.planned_layout();
    const auto batch = batch_of(fixture, layout);
    const auto logits = model.model->logits({}, batch);
    if (!model.config.task.label_per_token() || layout == Layout::packed) return logits;
    const auto& ids = model.model->output_side(batch).ids;
    return real_outputs(logits.unflatten(0, {ids.size(0), ids.size(1)}), fixture);
}

at::Tensor real_tokens(const at::Tensor& x, const FixtureCase& fixture) {
    return real_rows(x, fixture["lengths"]);
}

at::Tensor real_outputs(const at::Tensor& x, const FixtureCase& fixture) {
    return real_rows(x, output_lengths(fixture));
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

void check_gradients(const Outputs& got, const FixtureCase& fixture, const GradientCheck& check) {
    std::size_t expected_gradients = 0;
    for (const auto& [name, expected] : fixture.tensors) {
        if (!name.starts_with("grad.")) continue;
        ++expected_gradients;
        const auto parameter = name.substr(5);
        const auto found = got.gradients.find(parameter);
        INFO(name);
        REQUIRE(found != got.gradients.end());
        check(found->second, expected, parameter);
    }
    CHECK(got.gradients.size() == expected_gradients);
}

}  // namespace switchyard::test

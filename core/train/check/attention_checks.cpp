#include <switchyard/train/check/diagnosis.h>

#include <algorithm>
#include <set>
#include <sstream>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/torch_types.h>
#include <switchyard/model/sequences.h>

namespace switchyard::train {
namespace {

// Queries, keys and values as a layer would make them for this batch, from random numbers.
struct Probe {
    AttentionInputs inputs;
    AttentionParams params;
};

Probe make_probe(const CheckBench& bench, const config::LayerId& layer) {
    const auto& config = bench.session.config();
    const auto& m = config.model;
    const auto& batch = bench.batches.front().source;
    const auto dtype = bench.session.plan().precision().compute(OpClass::attention, config::to_string(layer));
    const auto options = batch.ids.options().dtype(to_scalar_type(dtype));
    const bool packed = batch.tokens.layout == Layout::packed;
    const auto sizes = [&](std::int64_t heads) {
        return packed ? std::vector<std::int64_t>{batch.ids.size(0), heads, m.head_dim}
                      : std::vector<std::int64_t>{batch.ids.size(0), heads, batch.ids.size(1), m.head_dim};
    };
    Probe probe;
    probe.inputs.q = at::randn(sizes(m.heads), options);
    probe.inputs.k = at::randn(sizes(m.kv_heads), options);
    probe.inputs.v = at::ones(sizes(m.kv_heads), options);
    probe.params.layout = batch.tokens.layout;
    probe.params.mask = model::batch_mask(batch.tokens, batch.tokens);
    if (config::ModelConfig::causal(layer.stack)) probe.params.mask.kinds.insert(MaskKind::causal);
    return probe;
}

// A value of one survives a weighted mean exactly but for the weights' rounding.
double allowed_deviation(DType dtype) { return dtype == DType::float32 ? 1e-5 : 2e-2; }

}  // namespace

Diagnosis check_attention_rows(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"attention rows sum to one", Health::good, "", ""};
    std::set<const model::AttentionOp*> seen;
    double worst = 0.0;
    for (const auto& layer : bench.session.config().layer_ids()) {
        for (const Phase phase : {Phase::train, Phase::eval}) {
            const auto& attention = bench.session.plan().attention("attention", phase, layer);
            if (!seen.insert(&attention).second) continue;
            const auto probe = make_probe(bench, layer);
            const auto out = attention(probe.inputs, probe.params).out;
            const double deviation = out.to(at::kDouble).sub(1.0).abs().max().item<double>();
            worst = std::max(worst, deviation);
            const auto dtype =
                bench.session.plan().precision().compute(OpClass::attention, config::to_string(layer));
            if (deviation <= allowed_deviation(dtype)) continue;
            result.health = Health::bad;
            result.advice =
                "the backend '" + attention.binding().component() + "' of " + config::to_string(layer) +
                " does not normalize: try another attention.backend, and `switchyard plugins verify " +
                attention.binding().plugin() + "`";
        }
    }
    std::ostringstream text;
    text << "with all values one, the largest deviation from one is " << worst << " (" << seen.size()
         << " bindings)";
    result.finding = text.str();
    return result;
}

Diagnosis check_causality(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"the future does not leak into the past", Health::good, "", ""};
    std::int64_t causal_layers = 0;
    for (const auto& layer : bench.session.config().layer_ids()) {
        if (!config::ModelConfig::causal(layer.stack)) continue;
        ++causal_layers;
        auto probe = make_probe(bench, layer);
        const auto& attention = bench.session.plan().attention("attention", Phase::eval, layer);
        const auto before = attention(probe.inputs, probe.params).out.clone();
        const auto dim = probe.params.layout == Layout::packed ? 0 : 2;
        probe.inputs.v = probe.inputs.v.clone();
        probe.inputs.v.select(dim, -1).fill_(1000.0);
        const auto after = attention(probe.inputs, probe.params).out;
        const auto last = before.size(dim) - 1;
        if (last == 0 || before.narrow(dim, 0, last).equal(after.narrow(dim, 0, last))) continue;
        result.health = Health::bad;
        result.advice =
            config::to_string(layer) +
            ": earlier tokens change with the last one; check the backend with `switchyard plugins verify`";
    }
    result.finding = std::to_string(causal_layers) + " causal layers";
    if (causal_layers == 0) {
        result.health = Health::skipped;
        result.finding = "the model is not causal: every token may see every other";
    }
    return result;
}

}  // namespace switchyard::train

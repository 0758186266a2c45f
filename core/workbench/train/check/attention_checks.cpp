#include "core/workbench/train/check/diagnosis.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <vector>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>

#include <switchyard/interfaces/torch_types.h>
#include "core/workbench/model/sequences.h"

namespace switchyard::train {
namespace {

// Queries, keys and values as a layer would make them for this batch, from random numbers.
struct Probe {
    AttentionInputs inputs;
    AttentionParams params;
};

// A layer's attention: of its stack to itself, or to the encoder's result.
struct Place {
    config::LayerId layer;
    bool cross = false;
    const char* slot() const { return cross ? "attention.cross" : "attention"; }
};

std::vector<Place> places_of(const config::Config& config) {
    std::vector<Place> places;
    for (const auto& layer : config.layer_ids()) {
        places.push_back({layer});
        if (layer.stack == config::Stack::decoder && config.model.has_cross_attention())
            places.push_back({layer, true});
    }
    return places;
}

Probe make_probe(const CheckBench& bench, const Place& place) {
    const auto& config = bench.session.config();
    const auto& m = config.model;
    const auto& batch = bench.batches.front();
    const bool decoder = place.layer.stack == config::Stack::decoder;
    const auto& queries = decoder ? bench.session.model().output_side(batch) : batch.source;
    const auto& keys = place.cross ? batch.source : queries;
    const auto dtype =
        bench.session.plan().precision().compute(OpClass::attention, config::to_string(place.layer));
    const auto options = queries.ids.options().dtype(to_scalar_type(dtype));
    const bool packed = queries.tokens.layout == Layout::packed;
    const auto sizes = [&](const TokenBatch& side, std::int64_t heads) {
        return packed ? std::vector<std::int64_t>{side.ids.size(0), heads, m.head_dim}
                      : std::vector<std::int64_t>{side.ids.size(0), heads, side.ids.size(1), m.head_dim};
    };
    Probe probe;
    probe.inputs.q = at::randn(sizes(queries, m.heads), options);
    probe.inputs.k = at::randn(sizes(keys, m.kv_heads), options);
    probe.inputs.v = at::ones(sizes(keys, m.kv_heads), options);
    probe.params.layout = queries.tokens.layout;
    probe.params.mask = model::batch_mask(queries.tokens, keys.tokens);
    if (decoder && !place.cross) probe.params.mask.kinds.insert(MaskKind::causal);
    return probe;
}

// A value of one survives a weighted mean exactly but for the weights' rounding.
double allowed_deviation(DType dtype) { return dtype == DType::float32 ? 1e-5 : 2e-2; }

// Through one layer's backend: another value at the last key leaves all other queries as they are.
bool past_stays(CheckBench& bench, const config::LayerId& layer) {
    auto probe = make_probe(bench, {layer});
    const auto& attention = bench.session.plan().attention("attention", Phase::eval, layer);
    const auto before = attention(probe.inputs, probe.params).out.clone();
    const auto dim = probe.params.layout == Layout::packed ? 0 : 2;
    probe.inputs.v = probe.inputs.v.clone();
    probe.inputs.v.select(dim, -1).fill_(1000.0);
    const auto after = attention(probe.inputs, probe.params).out;
    const auto last = before.size(dim) - 1;
    return last == 0 || before.narrow(dim, 0, last).equal(after.narrow(dim, 0, last));
}

// The largest change of a hidden state when the last token of each row (padded) or of the last sequence
// (packed) becomes another. Nothing where there is no token before it, or where a prefix may be seen by all.
std::optional<double> change_of_past(const CheckBench& bench) {
    const auto& session = bench.session;
    auto batch = bench.batches.front();
    auto& ids = batch.target.ids.defined() ? batch.target.ids : batch.source.ids;
    const auto dim = ids.dim() - 1;
    const auto last = ids.size(dim) - 1;
    if (last == 0 || session.config().model.prefix > 0) return std::nullopt;
    model::ForwardContext context;
    context.phase = Phase::eval;
    const auto before = session.model().hidden(context, batch).narrow(dim, 0, last).clone();
    ids = ids.clone();
    auto token = ids.select(dim, last);
    token.copy_(token.add(1).remainder(session.config().model.vocab_size));
    const auto after = session.model().hidden(context, batch).narrow(dim, 0, last);
    return after.to(at::kDouble).sub(before.to(at::kDouble)).abs().max().item<double>();
}

}  // namespace

Diagnosis check_attention_rows(CheckBench& bench) {
    const at::NoGradGuard no_grad;
    Diagnosis result{"attention rows sum to one", Health::good, "", ""};
    std::set<const runtime::AttentionOp*> seen;
    double worst = 0.0;
    for (const auto& place : places_of(bench.session.config())) {
        const auto& layer = place.layer;
        for (const Phase phase : {Phase::train, Phase::eval}) {
            const auto& attention = bench.session.plan().attention(place.slot(), phase, layer);
            if (!seen.insert(&attention).second) continue;
            const auto probe = make_probe(bench, place);
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
        if (past_stays(bench, layer)) continue;
        result.health = Health::bad;
        result.advice =
            config::to_string(layer) +
            ": earlier tokens change with the last one; check the backend with `switchyard plugins verify`";
    }
    result.finding = std::to_string(causal_layers) + " causal layers";
    if (causal_layers == 0) {
        result.health = Health::skipped;
        result.finding = "the model is not causal: every token may see every other";
        return result;
    }
    const auto change = change_of_past(bench);
    if (!change) return result;
    std::ostringstream text;
    text << "; with another last token, the model's hidden states before it change by " << *change;
    result.finding += text.str();
    if (result.health == Health::good && *change > 0.0) {
        result.health = Health::bad;
        result.advice = "a backend other than attention's mixes tokens: try naive, slot by slot";
    }
    return result;
}

}  // namespace switchyard::train

#include <switchyard/model/outline.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <switchyard/resolver/request_fields.h>

namespace switchyard::model {
namespace {

using config::Config;
using config::LayerId;
using config::ModelType;
using config::Stack;
using resolver::SlotUse;

bool has(const std::vector<Phase>& phases, Phase phase) {
    return std::find(phases.begin(), phases.end(), phase) != phases.end();
}

bool generates(Phase phase) { return phase == Phase::prefill || phase == Phase::decode; }

// Does that stack run in that phase? Only a decoder generates; the encoder that it attends to runs once, with
// the prompt.
bool runs(const config::ModelConfig& model, Stack stack, Phase phase) {
    if (!model.has(stack)) return false;
    if (!generates(phase)) return true;
    return stack == Stack::decoder || (model.has(Stack::decoder) && phase == Phase::prefill);
}

class Outline {
public:
    Outline(const Config& config, const Dtypes& dtypes) : config_(config), dtypes_(dtypes) {}

    std::vector<SlotUse> all() {
        for (const Phase phase : config_.run.phases) {
            for (const Stack stack : {Stack::encoder, Stack::decoder}) {
                if (runs(config_.model, stack, phase)) add_stack(stack, phase);
            }
            if (phase == Phase::train || phase == Phase::eval) {
                add_head(phase);
                add_loss(phase);
                add_data_loader(phase);
            }
            if (phase == Phase::train) add_optimizer();
        }
        std::stable_sort(uses_.begin(), uses_.end(), [](const SlotUse& a, const SlotUse& b) {
            return std::pair(a.kind, a.slot) < std::pair(b.kind, b.slot);
        });
        return std::move(uses_);
    }

private:
    DType compute(OpClass op, const std::string& layer) const {
        return config_.precision.compute_dtype ? *config_.precision.compute_dtype
                                               : dtypes_.compute(op, layer);
    }

    template <class R>
    R request(DType dtype, Phase phase, const config::SlotConfig& slot) const {
        R r;
        r.dtype = dtype;
        r.device = config_.run.device;
        r.layout = config_.batch.layout;
        r.phase = phase;
        r.needs_grad = phase == Phase::train;
        r.deterministic = config_.run.deterministic;
        r.allow_reduced = slot.allow_reduced;
        return r;
    }

    // The documents of a block are sequences of their own, of one token at least.
    Range batch() const {
        const bool documents = config_.data.blocks == config::Blocks::packed_lm;
        return {1, config_.batch.size * (documents ? config_.batch.max_length : 1)};
    }
    Range lengths() const { return {config_.batch.min_length, config_.batch.max_length}; }
    Range query_lengths(Phase phase) const { return phase == Phase::decode ? Range(1) : lengths(); }
    Range rows(Phase phase) const {
        const auto length = query_lengths(phase);
        return {std::max<std::int64_t>(length.min, 1), config_.batch.size * length.max};
    }

    void add_stack(Stack stack, Phase phase) {
        for (std::int64_t index = 0; index < config_.model.layers_of(stack); ++index) {
            const LayerId id{stack, index};
            add_layer(id, config_.layer(id), phase);
        }
        const std::string at(name(stack));
        const auto& m = config_.model;
        if (m.norm_position == config::NormPosition::pre) {
            add(Kind::normalization, "normalization.final", at, phase,
                wide_norm(m, config_.normalization, at, phase));
        } else if (m.type == ModelType::bert) {
            add(Kind::normalization, "normalization.embedding", at, phase,
                plain_norm(m, config_.normalization, at, phase));
        }
    }

    void add_layer(const LayerId& id, const config::LayerConfig& layer, Phase phase) {
        const auto at = config::to_string(id);
        const auto& m = layer.model;
        add_to_layers(Kind::attention, "attention", id, phase, self_attention(layer, id, phase),
                      layer.attention);
        if (id.stack == Stack::decoder && m.has_cross_attention()) {
            add_to_layers(Kind::attention, "attention.cross", id, phase, cross_attention(layer, id, phase),
                          layer.attention);
        }
        add_to_layers(Kind::normalization, "normalization", id, phase,
                      wide_norm(m, layer.normalization, at, phase), layer.normalization);
        // The first of a pre-norm stack gets the embeddings: there is nothing to add yet.
        if (m.norm_position == config::NormPosition::pre && id.index == 0) {
            add_to_layers(Kind::normalization, "normalization.first", id, phase,
                          plain_norm(m, layer.normalization, at, phase), layer.normalization);
        }
        add_to_layers(Kind::activation, "activation", id, phase, activation(layer, id, phase),
                      layer.activation);
    }

    AttentionRequest attention(const config::LayerConfig& layer, const LayerId& id, Phase phase) const {
        const auto& m = layer.model;
        auto r = request<AttentionRequest>(compute(OpClass::attention, config::to_string(id)), phase,
                                           layer.attention);
        r.batch = batch();
        r.heads = m.heads;
        r.kv_heads = m.kv_heads;
        r.head_dim = r.v_head_dim = m.head_dim;
        r.q_length = query_lengths(phase);
        r.kv_length = lengths();
        r.dropout = phase == Phase::train ? m.attention_dropout : 0.0;
        const bool packed = r.layout == Layout::packed;
        if (packed)
            r.masks.insert(MaskKind::documents);
        else if (!r.kv_length.single())
            r.masks.insert(MaskKind::key_lengths);
        if (m.soft_cap > 0) r.masks.insert(MaskKind::soft_cap);
        return r;
    }

    AttentionRequest self_attention(const config::LayerConfig& layer, const LayerId& id, Phase phase) const {
        const auto& m = layer.model;
        auto r = attention(layer, id, phase);
        // A cache grows by one with each token, and is of another length in each row.
        if (phase == Phase::decode) {
            r.kv_length = Range(1, config_.batch.max_length);
            if (r.layout == Layout::padded) r.masks.insert(MaskKind::key_lengths);
        }
        const bool causal = config::ModelConfig::causal(id.stack);
        if (causal) r.masks.insert(MaskKind::causal);
        if (causal && m.prefix > 0) r.masks.insert(MaskKind::prefix);
        if (m.window > 0) r.masks.insert(MaskKind::sliding_window);
        if (m.positions == config::Positions::alibi) r.masks.insert(MaskKind::alibi);
        if (m.positions == config::Positions::t5) {
            r.masks.insert(MaskKind::relative_bias);
            r.bias_gradient = r.needs_grad;
        }
        return r;
    }

    AttentionRequest cross_attention(const config::LayerConfig& layer, const LayerId& id, Phase phase) const {
        return attention(layer, id, phase);
    }

    NormalizationRequest plain_norm(const config::ModelConfig& m, const config::SlotConfig& slot,
                                    const std::string& at, Phase phase) const {
        auto r = request<NormalizationRequest>(compute(OpClass::normalization, at), phase, slot);
        r.norm = m.norm;
        r.rows = rows(phase);
        r.width = m.hidden_size;
        r.parameter_dtype = dtypes_.storage(OpClass::normalization, at);
        r.affine_bias = m.norm == NormKind::layer_norm && m.bias;
        return r;
    }

    // norm(residual + dropout(x + bias)): the end of one block and the beginning of the next.
    NormalizationRequest wide_norm(const config::ModelConfig& m, const config::SlotConfig& slot,
                                   const std::string& at, Phase phase) const {
        auto r = plain_norm(m, slot, at, phase);
        r.input_bias = m.bias;
        r.residual = true;
        r.dropout = phase == Phase::train ? m.dropout : 0.0;
        return r;
    }

    ActivationRequest activation(const config::LayerConfig& layer, const LayerId& id, Phase phase) const {
        const auto& m = layer.model;
        auto r = request<ActivationRequest>(compute(OpClass::activation, config::to_string(id)), phase,
                                            layer.activation);
        r.activation = m.activation;
        r.rows = rows(phase);
        r.width = m.intermediate_size;
        r.input_bias = m.bias;
        // T5 drops within the feed-forward; BERT and GPT-2 only at its end, which is the normalization's
        // part.
        r.dropout = phase == Phase::train && m.type == ModelType::t5 ? m.dropout : 0.0;
        return r;
    }

    // BERT's masked-LM head: a projection, an activation and a normalization before the words.
    void add_head(Phase phase) {
        if (config_.model.type != ModelType::bert || !config_.task.predicts_words()) return;
        const auto& m = config_.model;
        auto r = request<ActivationRequest>(compute(OpClass::activation, "model"), phase, config_.activation);
        r.activation = m.activation;
        r.rows = Range(0, rows(phase).max);
        r.width = m.hidden_size;
        add(Kind::activation, "activation.head", "model", phase, r);
        auto norm = plain_norm(m, config_.normalization, "model", phase);
        norm.rows = r.rows;
        add(Kind::normalization, "normalization.head", "encoder", phase, norm);
    }

    void add_loss(Phase phase) {
        const auto& slot = config_.loss;
        auto r = request<LossRequest>(compute(OpClass::loss, config::head_of(config_.task)), phase, slot);
        r.rows = config_.task.label_per_token() ? Range(0, rows(phase).max) : batch();
        r.classes = config_.task.classes(config_.model.vocab_size);
        r.projection = slot.projection && config_.task.predicts_words();
        r.projection_bias = r.projection && config_.model.type == ModelType::bert;
        r.width = r.projection ? config_.model.hidden_size : 0;
        r.label_smoothing = phase == Phase::train ? slot.label_smoothing : 0.0;
        r.z_loss = phase == Phase::train ? slot.z_loss : 0.0;
        r.logits_given_up = r.needs_grad && !r.projection;
        add(Kind::loss, "loss", "model", phase, r);
    }

    void add_optimizer() {
        const auto& slot = config_.optimizer;
        auto r = request<OptimizerRequest>(dtypes_.storage(OpClass::linear, "model"), Phase::train, slot);
        r.needs_grad = false;
        r.algorithm = slot.algorithm;
        r.gradient_dtype = r.dtype;
        r.master_weights = size_of(r.dtype) < size_of(DType::float32);
        r.clip = slot.max_grad_norm > 0;
        r.unscale = config_.precision.loss_scaling.value_or(false);
        add(Kind::optimizer, "optimizer", "model", Phase::train, r);
    }

    void add_data_loader(Phase phase) {
        auto r = request<DataLoaderRequest>(DType::int64, phase, config_.data_loader);
        r.needs_grad = false;
        r.batch = batch();
        r.length = lengths();
        r.labels_per_token = config_.task.label_per_token();
        add(Kind::data_loader, "data_loader", "model", phase, r);
    }

    config::Origin origin_of(Kind kind, const LayerId* layer) const {
        const auto key = std::string(name(kind)) + ".backend";
        if (layer != nullptr) {
            for (auto rule = config_.layers.rbegin(); rule != config_.layers.rend(); ++rule) {
                if (std::find(rule->layers.begin(), rule->layers.end(), *layer) == rule->layers.end())
                    continue;
                for (const auto& value : rule->values) {
                    if (value.key == key) return value.origin;
                }
            }
        }
        const auto found = config_.origins.find(key);
        return found == config_.origins.end() ? config::Origin{} : found->second;
    }

    template <class R>
    void add(Kind kind, const std::string& slot, const std::string& layers, Phase phase, const R& request) {
        uses_.push_back({kind,
                         slot,
                         layers,
                         {},
                         phase,
                         std::make_shared<R>(request),
                         config_.slot(kind),
                         origin_of(kind, nullptr)});
    }

    // Joins the use of the layer before where they are equal.
    template <class R>
    void add_to_layers(Kind kind, const std::string& slot, const LayerId& id, Phase phase, const R& request,
                       const config::SlotConfig& slot_config) {
        for (auto& use : uses_) {
            if (use.slot != slot || use.phase != phase || use.layer_ids.empty()) continue;
            const auto& last = use.layer_ids.back();
            if (last.stack != id.stack || last.index + 1 != id.index) continue;
            if (!(use.config == slot_config) || !resolver::equal(kind, *use.request, request)) continue;
            use.layer_ids.push_back(id);
            use.layers = std::string(name(id.stack)) + "." + std::to_string(use.layer_ids.front().index) +
                         "-" + std::to_string(id.index);
            return;
        }
        uses_.push_back({kind,
                         slot,
                         config::to_string(id),
                         {id},
                         phase,
                         std::make_shared<R>(request),
                         slot_config,
                         origin_of(kind, &id)});
    }

    const Config& config_;
    const Dtypes& dtypes_;
    std::vector<SlotUse> uses_;
};

}  // namespace

Dtypes configured_dtypes(const Config& config) {
    const auto parameters = config.precision.parameter_dtype.value_or(DType::float32);
    const auto inputs = config.precision.compute_dtype.value_or(parameters);
    return {[inputs](OpClass, const std::string&) { return inputs; },
            [parameters](OpClass, const std::string&) { return parameters; }};
}

SlotUse outline_precision(const Config& config) {
    auto request = std::make_shared<PrecisionRequest>();
    request->dtype = config.precision.parameter_dtype.value_or(DType::float32);
    request->device = config.run.device;
    request->layout = config.batch.layout;
    request->phase = has(config.run.phases, Phase::train) || config.run.phases.empty()
                         ? Phase::train
                         : config.run.phases.front();
    request->needs_grad = request->phase == Phase::train;
    request->deterministic = config.run.deterministic;
    request->allow_reduced = config.precision.allow_reduced;
    request->loss_scaling = config.precision.loss_scaling.value_or(false);
    const auto origin = config.origins.find("precision.backend");
    const auto phase = request->phase;
    return {Kind::precision,
            "precision",
            "model",
            {},
            phase,
            std::move(request),
            config.precision,
            origin == config.origins.end() ? config::Origin{} : origin->second};
}

std::vector<SlotUse> outline(const Config& config, const Dtypes& dtypes) {
    return Outline(config, dtypes).all();
}

}  // namespace switchyard::model

#include "core/workbench/model/weights/huggingface_keys.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/load.h"
#include "core/kernel/config/table.h"
#include "core/workbench/model/weights/huggingface_reader.h"
#include "core/workbench/model/weights/huggingface_rotary.h"

namespace switchyard::model {
namespace {

using config::ModelConfig;
using config::ModelType;
constexpr const char* own_section = "model";
using nlohmann::json;
using nlohmann::ordered_json;

using Keys = HuggingFaceReader;

ActivationKind activation_of(const Keys& keys, Family family, const char* key, const char* otherwise) {
    const auto text = keys.text(key, otherwise);
    std::string known;
    for (std::size_t i = 0; i < known_formulas<ActivationKind>; ++i) {
        const auto kind = static_cast<ActivationKind>(i);
        const auto theirs = huggingface_activation(family, kind);
        if (theirs.empty()) continue;
        if (theirs == text) return kind;
        base::add_item(known, theirs);
    }
    throw std::invalid_argument(std::string(key) + ": '" + base::quoted(text) + "' is not one of " + known);
}

void set_heads(ModelConfig& model, const Keys& keys, const char* key) {
    model.heads = model.kv_heads = keys.whole(key);
    if (model.hidden_size % model.heads != 0 && !keys.has("head_dim"))
        throw std::invalid_argument(std::string(key) + ": does not divide hidden_size");
    model.head_dim = model.hidden_size / model.heads;
}

// Rows of a table of positions before the first that is used: RoBERTa counts on from the number of padding.
constexpr std::int64_t roberta_padding = 1, roberta_rows_before = roberta_padding + 1;

// BERT and RoBERTa say the same things of themselves.
ModelConfig bert_like(const Keys& keys) {
    ModelConfig model;
    model.layers = keys.whole("num_hidden_layers");
    model.hidden_size = keys.whole("hidden_size");
    set_heads(model, keys, "num_attention_heads");
    model.intermediate_size = keys.whole("intermediate_size");
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("max_position_embeddings");
    model.norm_eps = keys.number("layer_norm_eps", 1e-12);
    model.activation = activation_of(keys, Family::bert, "hidden_act", "gelu");
    model.dropout = keys.number("hidden_dropout_prob", 0.1);
    model.attention_dropout = keys.number("attention_probs_dropout_prob", 0.1);
    model.tie_embeddings = keys.flag("tie_word_embeddings", true);
    return model;
}

ModelConfig bert_from(const Keys& keys) {
    keys.expect("type_vocab_size", 2);
    return bert_like(keys);
}

ModelConfig roberta_from(const Keys& keys) {
    keys.expect("type_vocab_size", 1);
    keys.expect("pad_token_id", roberta_padding);
    auto model = bert_like(keys);
    model.segments = 1;
    if (model.max_positions <= roberta_rows_before)
        keys.refuse("max_position_embeddings", "expected more than " + std::to_string(roberta_rows_before));
    model.max_positions -= roberta_rows_before;
    return model;
}

ModelConfig distilbert_from(const Keys& keys) {
    ModelConfig model;
    model.segments = 0;
    model.pooler = config::Pooler::relu;
    model.layers = keys.whole("n_layers");
    model.hidden_size = keys.whole("dim");
    set_heads(model, keys, "n_heads");
    model.intermediate_size = keys.whole("hidden_dim");
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("max_position_embeddings");
    model.activation = activation_of(keys, Family::distilbert, "activation", "gelu");
    model.dropout = keys.number("dropout", 0.1);
    for (const auto* const key : {"qa_dropout", "seq_classif_dropout"}) keys.number(key, 0.0);
    keys.flag("sinusoidal_pos_embds", false);  // how the table begins; it is in the weights either way
    keys.flag("tie_weights_", true);
    model.attention_dropout = keys.number("attention_dropout", 0.1);
    model.tie_embeddings = keys.flag("tie_word_embeddings", true);
    return model;
}

ModelConfig gpt2_from(const Keys& keys) {
    ModelConfig model;
    model.type = ModelType::gpt;
    model.segments = 0;
    model.norm_position = config::NormPosition::pre;
    model.layers = keys.whole("n_layer");
    model.hidden_size = keys.whole("n_embd");
    set_heads(model, keys, "n_head");
    model.intermediate_size = keys.whole("n_inner", 4 * model.hidden_size);
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("n_positions");
    model.norm_eps = keys.number("layer_norm_epsilon", 1e-5);
    model.activation = activation_of(keys, Family::gpt2, "activation_function", "gelu_new");
    model.dropout = keys.number("resid_pdrop", 0.1);
    keys.number("embd_pdrop", model.dropout);  // one rate for both here, which a configuration may set anyway
    model.attention_dropout = keys.number("attn_pdrop", 0.1);
    model.tie_embeddings = keys.flag("tie_word_embeddings", true);
    return model;
}

ModelConfig llama_from(const Keys& keys) {
    ModelConfig model;
    model.type = ModelType::gpt;
    model.segments = 0;
    model.norm = NormKind::rms_norm;
    model.norm_position = config::NormPosition::pre;
    model.positions = config::Positions::rotary;
    model.bias = false;
    model.layers = keys.whole("num_hidden_layers");
    model.hidden_size = keys.whole("hidden_size");
    set_heads(model, keys, "num_attention_heads");
    model.kv_heads = keys.whole("num_key_value_heads", model.heads);
    model.head_dim = keys.whole("head_dim", model.head_dim);
    model.intermediate_size = keys.whole("intermediate_size");
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("max_position_embeddings");
    model.norm_eps = keys.number("rms_norm_eps", 1e-6);
    read_rotary(keys, model);
    model.activation = activation_of(keys, Family::llama, "hidden_act", "silu");
    model.dropout = 0.0;
    model.attention_dropout = keys.number("attention_dropout", 0.0);
    model.tie_embeddings = keys.flag("tie_word_embeddings", false);
    return model;
}

ModelConfig t5_from(const Keys& keys) {
    keys.expect("relative_attention_num_buckets", 32);
    keys.expect("relative_attention_max_distance", 128);
    keys.expect("is_encoder_decoder", true);
    const double padding = keys.number("pad_token_id", 0.0);
    if (keys.number("decoder_start_token_id", padding) != padding)
        keys.refuse("decoder_start_token_id",
                    "expected what pad_token_id says, for a decoder begins with that here");
    const bool gated = keys.text("feed_forward_proj", "relu").starts_with("gated-");
    ModelConfig model;
    model.type = ModelType::t5;
    model.segments = 0;
    model.norm = NormKind::rms_norm;
    model.norm_position = config::NormPosition::pre;
    model.positions = config::Positions::t5;
    model.bias = false;
    model.layers = keys.whole("num_layers");
    model.decoder_layers = keys.whole("num_decoder_layers", model.layers);
    model.hidden_size = keys.whole("d_model");
    model.heads = model.kv_heads = keys.whole("num_heads");
    model.head_dim = keys.whole("d_kv");
    model.intermediate_size = keys.whole("d_ff");
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("n_positions", 0);
    model.norm_eps = keys.number("layer_norm_epsilon", 1e-6);
    model.activation =
        activation_of(keys, gated ? Family::t5_gated : Family::t5, "feed_forward_proj", "relu");
    model.dropout = model.attention_dropout = keys.number("dropout_rate", 0.1);
    model.tie_embeddings = keys.flag("tie_word_embeddings", true);
    // transformers 5 calls every T5 tied and says apart from it whether the tied states are scaled, which
    // version 1.1, with an output projection of its own, does not do.
    model.tie_embeddings = model.tie_embeddings && keys.flag("scale_decoder_outputs", true);
    return model;
}

// Through the configuration's own reader, so that every value is checked as one of a TOML file is.
ModelConfig own_from(const json& object) {
    const auto found = object.find(own_section);
    if (found == object.end() || !found->is_object())
        throw std::invalid_argument(std::string(own_section) + ": expected the section [model]");
    config::LoadRequest request;
    for (const auto& [key, value] : found->items())
        request.overrides.push_back(std::string(own_section) + "." + key + "=" + value.dump());
    auto loaded = config::load(request);
    if (loaded.config) return loaded.config->model;
    const auto& problem = loaded.problems.front();
    throw std::invalid_argument(problem.key + ": " + problem.message + "; expected " + problem.expected);
}

ordered_json own_keys(const ModelConfig& model) {
    config::Config config;
    config.model = model;
    ordered_json keys;
    for (const auto& section : config::sections()) {
        if (section.name != own_section) continue;
        for (const auto& field : section.fields) {
            auto& value = keys[field.key.substr(section.name.size() + 1)];
            std::visit([&](const auto& held) { value = held; }, field.get(config));
        }
    }
    return {{own_section, std::move(keys)}};
}

ordered_json bert_keys(const ModelConfig& m) {
    return {{"num_hidden_layers", m.layers},
            {"hidden_size", m.hidden_size},
            {"num_attention_heads", m.heads},
            {"intermediate_size", m.intermediate_size},
            {"vocab_size", m.vocab_size},
            {"max_position_embeddings", m.max_positions},
            {"type_vocab_size", m.segments},
            {"layer_norm_eps", m.norm_eps},
            {"hidden_act", huggingface_activation(Family::bert, m.activation)},
            {"hidden_dropout_prob", m.dropout},
            {"attention_probs_dropout_prob", m.attention_dropout}};
}

ordered_json roberta_keys(const ModelConfig& m) {
    auto keys = bert_keys(m);
    keys["max_position_embeddings"] = m.max_positions + roberta_rows_before;
    return keys;
}

ordered_json distilbert_keys(const ModelConfig& m) {
    return {{"n_layers", m.layers},
            {"dim", m.hidden_size},
            {"n_heads", m.heads},
            {"hidden_dim", m.intermediate_size},
            {"vocab_size", m.vocab_size},
            {"max_position_embeddings", m.max_positions},
            {"sinusoidal_pos_embds", false},
            {"activation", huggingface_activation(Family::distilbert, m.activation)},
            {"dropout", m.dropout},
            {"seq_classif_dropout", m.dropout},
            {"attention_dropout", m.attention_dropout}};
}

ordered_json gpt2_keys(const ModelConfig& m) {
    return {{"n_layer", m.layers},
            {"n_embd", m.hidden_size},
            {"n_head", m.heads},
            {"n_inner", m.intermediate_size},
            {"vocab_size", m.vocab_size},
            {"n_positions", m.max_positions},
            {"layer_norm_epsilon", m.norm_eps},
            {"activation_function", huggingface_activation(Family::gpt2, m.activation)},
            {"embd_pdrop", m.dropout},
            {"resid_pdrop", m.dropout},
            {"attn_pdrop", m.attention_dropout}};
}

ordered_json llama_keys(const ModelConfig& m) {
    ordered_json keys{{"num_hidden_layers", m.layers},  {"hidden_size", m.hidden_size},
                      {"num_attention_heads", m.heads}, {"num_key_value_heads", m.kv_heads},
                      {"head_dim", m.head_dim},         {"intermediate_size", m.intermediate_size},
                      {"vocab_size", m.vocab_size},     {"max_position_embeddings", m.max_positions},
                      {"rms_norm_eps", m.norm_eps}};
    keys.update(rotary_keys(m));
    keys.update({{"hidden_act", huggingface_activation(Family::llama, m.activation)},
                 {"attention_bias", false},
                 {"mlp_bias", false},
                 {"attention_dropout", m.attention_dropout}});
    return keys;
}

ordered_json t5_keys(const ModelConfig& m, Family family) {
    ordered_json keys{{"num_layers", m.layers},
                      {"num_decoder_layers", m.decoder_layers},
                      {"d_model", m.hidden_size},
                      {"d_kv", m.head_dim},
                      {"d_ff", m.intermediate_size},
                      {"num_heads", m.heads},
                      {"vocab_size", m.vocab_size},
                      {"layer_norm_epsilon", m.norm_eps},
                      {"feed_forward_proj", huggingface_activation(family, m.activation)},
                      {"relative_attention_num_buckets", 32},
                      {"relative_attention_max_distance", 128},
                      {"dropout_rate", m.dropout}};
    if (m.max_positions > 0) keys["n_positions"] = m.max_positions;  // t5 1.1 has none, and needs none
    return keys;
}

}  // namespace

ModelConfig model_from_keys(const json& object, std::vector<std::string>& unknown) {
    const Keys keys(object);
    const auto type = keys.text("model_type", "");
    if (type == model_type_of(Family::own)) return own_from(object);
    using From = ModelConfig (*)(const Keys&);
    constexpr std::pair<const char*, From> known[] = {
        {"bert", bert_from}, {"roberta", roberta_from}, {"distilbert", distilbert_from},
        {"gpt2", gpt2_from}, {"llama", llama_from},     {"t5", t5_from}};
    std::string list;
    for (const auto& [name, from] : known) {
        base::add_item(list, "'" + std::string(name) + "'");
        if (type != name) continue;
        auto model = from(keys);
        unknown = keys.refuse_the_rest();
        return model;
    }
    throw std::invalid_argument("model_type: expected one of " + list + ", got '" + base::quoted(type) + "'");
}

ordered_json keys_of(const ModelConfig& model, Family family) {
    switch (family) {
        case Family::bert:
            return bert_keys(model);
        case Family::roberta:
            return roberta_keys(model);
        case Family::distilbert:
            return distilbert_keys(model);
        case Family::gpt2:
            return gpt2_keys(model);
        case Family::llama:
            return llama_keys(model);
        case Family::t5:
        case Family::t5_gated:
            return t5_keys(model, family);
        default:
            return own_keys(model);
    }
}

}  // namespace switchyard::model

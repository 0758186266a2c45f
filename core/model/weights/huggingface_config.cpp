#include <switchyard/model/weights/huggingface_config.h>

#include <array>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace switchyard::model {
namespace {

using nlohmann::json;

constexpr std::array<std::pair<std::string_view, ActivationKind>, 4> activations{
    {{"gelu", ActivationKind::gelu_erf},
     {"gelu_new", ActivationKind::gelu_tanh},
     {"relu", ActivationKind::relu},
     {"silu", ActivationKind::silu}}};

class Keys {
public:
    explicit Keys(const json& object) : object_(object) {}

    std::int64_t whole(const char* key) const {
        const auto found = object_.find(key);
        const bool good =
            found != object_.end() && found->is_number_integer() && found->get<std::int64_t>() > 0;
        if (!good)
            throw std::invalid_argument(std::string(key) + ": expected a whole number from 1, got " +
                                        shown(found));
        return found->get<std::int64_t>();
    }
    double number(const char* key, double otherwise) const {
        const auto found = object_.find(key);
        if (found == object_.end()) return otherwise;
        if (!found->is_number())
            throw std::invalid_argument(std::string(key) + ": expected a number, got " + shown(found));
        return found->get<double>();
    }
    std::string text(const char* key, const char* otherwise) const {
        const auto found = object_.find(key);
        if (found == object_.end()) return otherwise;
        if (!found->is_string())
            throw std::invalid_argument(std::string(key) + ": expected a text, got " + shown(found));
        return found->get<std::string>();
    }

private:
    std::string shown(json::const_iterator found) const {
        return found == object_.end() ? "nothing" : found->dump().substr(0, 40);
    }
    const json& object_;
};

ActivationKind activation_of(const std::string& text) {
    for (const auto& [theirs, ours] : activations) {
        if (theirs == text) return ours;
    }
    throw std::invalid_argument("hidden_act: '" + text + "' is not one of gelu, gelu_new, relu, silu");
}

config::ModelConfig bert_from(const Keys& keys) {
    if (const auto positions = keys.text("position_embedding_type", "absolute"); positions != "absolute") {
        throw std::invalid_argument("position_embedding_type: '" + positions +
                                    "' is not served; expected 'absolute'");
    }
    config::ModelConfig model;
    model.type = config::ModelType::bert;
    model.layers = keys.whole("num_hidden_layers");
    model.hidden_size = keys.whole("hidden_size");
    model.heads = model.kv_heads = keys.whole("num_attention_heads");
    if (model.hidden_size % model.heads != 0)
        throw std::invalid_argument("num_attention_heads: does not divide hidden_size");
    model.head_dim = model.hidden_size / model.heads;
    model.intermediate_size = keys.whole("intermediate_size");
    model.vocab_size = keys.whole("vocab_size");
    model.max_positions = keys.whole("max_position_embeddings");
    model.norm_eps = keys.number("layer_norm_eps", 1e-12);
    model.activation = activation_of(keys.text("hidden_act", "gelu"));
    model.dropout = keys.number("hidden_dropout_prob", 0.1);
    model.attention_dropout = keys.number("attention_probs_dropout_prob", 0.1);
    return model;
}

std::vector<std::string> labels_of(const json& object) {
    std::vector<std::string> labels;
    const auto found = object.find("id2label");
    if (found == object.end() || !found->is_object()) return labels;
    for (std::size_t i = 0; found->contains(std::to_string(i)); ++i) {
        const auto& label = (*found)[std::to_string(i)];
        labels.push_back(label.is_string() ? label.get<std::string>() : label.dump());
    }
    return labels;
}

}  // namespace

HuggingFaceConfig read_huggingface_config(const std::string& path) {
    HuggingFaceConfig result;
    std::ifstream file(path);
    const auto object = file ? json::parse(file, nullptr, false) : json();
    if (!object.is_object()) {
        result.error = path + (file ? ": is no JSON object" : ": cannot be opened");
        return result;
    }
    try {
        const Keys keys(object);
        if (const auto type = keys.text("model_type", ""); type != "bert") {
            throw std::invalid_argument("model_type: expected 'bert', got '" + type + "'");
        }
        result.model = bert_from(keys);
        result.labels = labels_of(object);
    } catch (const std::invalid_argument& error) {
        result.error = path + ": " + error.what();
    }
    return result;
}

std::vector<std::string> differences(const config::ModelConfig& ours, const config::ModelConfig& theirs) {
    std::vector<std::string> result;
    const auto compare = [&](const char* key, auto here, auto there) {
        if (here == there) return;
        result.push_back(std::string(key) + ": " + json(here).dump() + " configured, " + json(there).dump() +
                         " in config.json");
    };
    compare("layers", ours.layers, theirs.layers);
    compare("hidden_size", ours.hidden_size, theirs.hidden_size);
    compare("heads", ours.heads, theirs.heads);
    compare("kv_heads", ours.kv_heads, theirs.kv_heads);
    compare("intermediate_size", ours.intermediate_size, theirs.intermediate_size);
    compare("vocab_size", ours.vocab_size, theirs.vocab_size);
    compare("max_positions", ours.max_positions, theirs.max_positions);
    compare("norm_eps", ours.norm_eps, theirs.norm_eps);
    compare("activation", std::string(name(ours.activation)), std::string(name(theirs.activation)));
    compare("positions", std::string(name(ours.positions)), std::string(name(theirs.positions)));
    return result;
}

std::string to_huggingface_config(const config::ModelConfig& model, const std::string& architecture,
                                  const std::vector<std::string>& labels) {
    std::string activation(name(model.activation));
    for (const auto& [theirs, ours] : activations) {
        if (ours == model.activation) activation = theirs;
    }
    nlohmann::ordered_json object{{"model_type", std::string(name(model.type))},
                                  {"architectures", {architecture}},
                                  {"num_hidden_layers", model.layers},
                                  {"hidden_size", model.hidden_size},
                                  {"num_attention_heads", model.heads},
                                  {"intermediate_size", model.intermediate_size},
                                  {"vocab_size", model.vocab_size},
                                  {"max_position_embeddings", model.max_positions},
                                  {"type_vocab_size", 2},
                                  {"layer_norm_eps", model.norm_eps},
                                  {"hidden_act", activation},
                                  {"hidden_dropout_prob", model.dropout},
                                  {"attention_probs_dropout_prob", model.attention_dropout},
                                  {"pad_token_id", 0},
                                  {"tie_word_embeddings", model.tie_embeddings}};
    for (std::size_t i = 0; i < labels.size(); ++i) {
        object["id2label"][std::to_string(i)] = labels[i];
        object["label2id"][labels[i]] = i;
    }
    return object.dump(2) + "\n";
}

}  // namespace switchyard::model

#include "core/workbench/model/weights/huggingface_config.h"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/huggingface_keys.h"
#include "core/workbench/model/weights/model_toml.h"

namespace switchyard::model {
namespace {

using nlohmann::json;

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
    try {
        const auto text = base::read_text(path);
        if (!text) throw base::InputError(path + ": error: is not there; expected a config.json");
        const json object = base::parse_object(*text, path);
        std::vector<std::string> unknown;
        result.model = model_from_keys(object, unknown);
        for (const auto& key : unknown)
            result.notes.push_back(path + ": " + base::quoted(key) +
                                   " is not known here and was not looked at");
        result.labels = labels_of(object);
    } catch (const base::InputError& error) {
        result.error = error.what();
    } catch (const std::invalid_argument& error) {
        result.error = path + ": " + error.what();
    }
    return result;
}

config::ModelFolder read_model_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    if (gguf::is_gguf_file(folder)) return read_gguf_config(folder);
    const auto file = folder + "/config.json";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
        return {file, "",
                folder + (fs::exists(folder, ignored) ? " is not a folder" : " is not there") +
                    "; expected a folder of Hugging Face's, with config.json and model.safetensors, or a "
                    "GGUF file"};
    if (!fs::exists(file, ignored)) {
        const auto whole = (fs::path(folder) / "model").string();  // of a run
        return {file, "",
                folder + " has no config.json; expected a folder of Hugging Face's" +
                    (fs::exists(whole + "/config.json", ignored) ? "; did you mean " + whole + "?"
                     : fs::exists(folder + "/config.toml", ignored)
                         ? ", as a run leaves in " + whole + " at its end"
                         : "")};
    }
    const auto read = read_huggingface_config(file);
    if (!read.error.empty()) return {file, "", read.error};
    return {file, model_toml(read.model, folder), ""};
}

namespace {

template <class Compare>
void compare_rotary(const config::ModelConfig& ours, const config::ModelConfig& theirs,
                    const Compare& compare) {
    using config::RotaryScaling;
    compare("rotary_theta", ours.rotary_theta, theirs.rotary_theta);
    compare("rotary_scaling", std::string(name(ours.rotary_scaling)),
            std::string(name(theirs.rotary_scaling)));
    if (ours.rotary_scaling == RotaryScaling::none || ours.rotary_scaling != theirs.rotary_scaling) return;
    compare("rotary_factor", ours.rotary_factor, theirs.rotary_factor);
    if (ours.rotary_scaling == RotaryScaling::linear) return;
    compare("rotary_low_freq_factor", ours.rotary_low_freq_factor, theirs.rotary_low_freq_factor);
    compare("rotary_high_freq_factor", ours.rotary_high_freq_factor, theirs.rotary_high_freq_factor);
    compare("rotary_original_positions", ours.rotary_original_positions, theirs.rotary_original_positions);
}

}  // namespace

std::vector<std::string> differences(const config::ModelConfig& ours, const config::ModelConfig& theirs,
                                     const std::string& there) {
    std::vector<std::string> result;
    const auto compare = [&](const char* key, auto here, auto theirs_is) {
        if (here == theirs_is) return;
        result.push_back(std::string(key) + ": " + json(here).dump() + " configured, " +
                         json(theirs_is).dump() + " in " + there);
    };
    const auto names = [&](const char* key, auto here, auto there) {
        compare(key, std::string(name(here)), std::string(name(there)));
    };
    names("type", ours.type, theirs.type);
    compare("layers", ours.layers, theirs.layers);
    compare("decoder_layers", ours.decoder_layers, theirs.decoder_layers);
    compare("hidden_size", ours.hidden_size, theirs.hidden_size);
    compare("heads", ours.heads, theirs.heads);
    compare("kv_heads", ours.kv_heads, theirs.kv_heads);
    compare("head_dim", ours.head_dim, theirs.head_dim);
    compare("intermediate_size", ours.intermediate_size, theirs.intermediate_size);
    compare("vocab_size", ours.vocab_size, theirs.vocab_size);
    if (theirs.max_positions > 0) compare("max_positions", ours.max_positions, theirs.max_positions);
    names("norm", ours.norm, theirs.norm);
    compare("norm_eps", ours.norm_eps, theirs.norm_eps);
    names("norm_position", ours.norm_position, theirs.norm_position);
    names("activation", ours.activation, theirs.activation);
    names("positions", ours.positions, theirs.positions);
    compare("segments", ours.segments, theirs.segments);
    names("pooler", ours.pooler, theirs.pooler);
    if (ours.positions == config::Positions::rotary) compare_rotary(ours, theirs, compare);
    compare("bias", ours.bias, theirs.bias);
    // A bert's table of words may serve tasks that project no words.
    if (ours.type != config::ModelType::bert)
        compare("tie_embeddings", ours.tie_embeddings, theirs.tie_embeddings);
    // A pretrained model may be given these, as it may be given another dropout; what was trained with them
    // keeps them.
    if (theirs.window > 0) compare("window", ours.window, theirs.window);
    if (theirs.prefix > 0) compare("prefix", ours.prefix, theirs.prefix);
    if (theirs.soft_cap > 0.0) compare("soft_cap", ours.soft_cap, theirs.soft_cap);
    return result;
}

std::string to_huggingface_config(const config::ModelConfig& model, Family family,
                                  const HuggingFaceFacts& facts) {
    nlohmann::ordered_json object{{"model_type", std::string(model_type_of(family))},
                                  {"architectures", {facts.architecture}}};
    object.update(keys_of(model, family));
    object["pad_token_id"] = facts.pad_id;
    if (facts.bos_id) object["bos_token_id"] = *facts.bos_id;
    if (facts.eos_id) object["eos_token_id"] = *facts.eos_id;
    if (model.type == config::ModelType::t5) {
        object["is_encoder_decoder"] = true;
        object["decoder_start_token_id"] = facts.pad_id;
    }
    object["tie_word_embeddings"] = model.tie_embeddings;
    if (!facts.problem_type.empty()) object["problem_type"] = facts.problem_type;
    for (std::size_t i = 0; i < facts.labels.size(); ++i) {
        object["id2label"][std::to_string(i)] = facts.labels[i];
        object["label2id"][facts.labels[i]] = i;
    }
    return object.dump(2) + "\n";
}

}  // namespace switchyard::model

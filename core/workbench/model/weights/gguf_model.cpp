#include "core/workbench/model/weights/gguf_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/gguf/metadata_reader.h"
#include "core/workbench/model/weights/model_toml.h"
#include "core/workbench/model/weights/rotary_factors.h"

namespace switchyard::model {
namespace {

using base::InputError;
using config::ModelConfig;
using gguf::MetadataReader;

// Metadata of one architecture, with an account of what was read.
class ArchitectureKeys {
public:
    ArchitectureKeys(const gguf::File& file, std::string architecture)
        : file_(file), reader_(file), prefix_(std::move(architecture) + ".") {}

    std::int64_t whole(const std::string& key) { return reader_.whole(read(key)); }
    std::int64_t whole(const std::string& key, std::int64_t otherwise) {
        return reader_.whole(read(key), otherwise);
    }
    double positive(const std::string& key, double otherwise) {
        const double value = reader_.number(read(key), otherwise);
        if (value <= 0.0) refuse(key, "a number above 0");
        return value;
    }
    std::string text(const std::string& key, const std::string& otherwise) {
        return reader_.text(read(key), otherwise);
    }
    [[noreturn]] void refuse(const std::string& key, const std::string& expected) {
        reader_.refuse(prefix_ + key, expected);
    }
    bool has(const std::string& key) { return reader_.has(read(key)); }

    // Metadata of this architecture that nobody asked for.
    std::vector<std::string> rest() const {
        std::vector<std::string> keys;
        for (const auto& [key, value] : file_.metadata()) {
            const bool ours = key.starts_with(prefix_);
            if (ours && std::find(read_.begin(), read_.end(), key) == read_.end()) keys.push_back(key);
        }
        return keys;
    }

private:
    std::string read(const std::string& key) {
        read_.push_back(prefix_ + key);
        return read_.back();
    }

    const gguf::File& file_;
    MetadataReader reader_;
    std::string prefix_;
    std::vector<std::string> read_;
};

// What other models of the architecture have, and which is not computed here.
void refuse_other_formulas(ArchitectureKeys& keys) {
    for (const char* key : {"expert_count", "attention.sliding_window", "attention.clamp_kqv", "logit_scale",
                            "residual_scale", "embedding_scale", "attention.scale", "attn_logit_softcapping",
                            "final_logit_softcapping", "attention.max_alibi_bias"}) {
        if (keys.has(key)) keys.refuse(key, "a file without it: what it changes is not computed here");
    }
    if (keys.text("tensor_data_layout", "").starts_with("Meta"))
        keys.refuse("tensor_data_layout", "a file that was converted from Hugging Face's");
}

const gguf::Tensor& needed(const gguf::File& file, std::string_view name) {
    const auto* const tensor = file.find(name);
    if (tensor == nullptr) throw InputError(file.path() + ": has no tensor '" + std::string(name) + "'");
    return *tensor;
}

// GPT-2's converter writes the table of words a second time as the output projection.
bool output_is_table(const gguf::File& file) {
    const auto* const output = file.find("output.weight");
    if (output == nullptr) return true;
    const auto& table = needed(file, "token_embd.weight");
    return output->type == table.type && output->shape == table.shape &&
           std::memcmp(output->data, table.data, table.bytes) == 0;
}

void read_sizes(const gguf::File& file, ArchitectureKeys& keys, ModelConfig& model) {
    model.type = config::ModelType::gpt;
    model.segments = 0;
    model.norm_position = config::NormPosition::pre;
    model.dropout = model.attention_dropout = 0.0;
    model.layers = keys.whole("block_count");
    model.hidden_size = keys.whole("embedding_length");
    model.intermediate_size = keys.whole("feed_forward_length");
    model.max_positions = keys.whole("context_length");
    model.heads = keys.whole("attention.head_count");
    model.kv_heads = keys.whole("attention.head_count_kv", model.heads);
    if (!keys.has("attention.key_length") && model.hidden_size % model.heads != 0)
        keys.refuse("attention.head_count", "a divisor of embedding_length");
    model.head_dim =
        keys.whole("attention.key_length", std::max<std::int64_t>(model.hidden_size / model.heads, 1));
    if (keys.whole("attention.value_length", model.head_dim) != model.head_dim)
        keys.refuse("attention.value_length", "as much as attention.key_length");
    const auto& table = needed(file, "token_embd.weight");
    model.vocab_size = table.shape.front();
    if (keys.whole("vocab_size", model.vocab_size) != model.vocab_size)
        keys.refuse("vocab_size", std::to_string(model.vocab_size) + ", the rows of token_embd.weight");
    model.tie_embeddings = output_is_table(file);
}

void read_rotary(const gguf::File& file, ArchitectureKeys& keys, ModelConfig& model) {
    using config::RotaryScaling;
    model.rotary_theta = keys.positive("rope.freq_base", 10000.0);
    if (keys.whole("rope.dimension_count", model.head_dim) != model.head_dim)
        keys.refuse("rope.dimension_count", std::to_string(model.head_dim) + ", the width of a head");
    const auto type = keys.text("rope.scaling.type", "none");
    if (type != "none" && type != "linear")
        keys.refuse("rope.scaling.type",
                    "none or linear: other scalings of rotary positions are not computed here");
    const double factor = keys.positive("rope.scaling.factor", keys.positive("rope.scale_linear", 1.0));
    keys.whole("rope.scaling.original_context_length", 1);
    if (type == "linear" || (keys.has("rope.scale_linear") && factor != 1.0)) {
        if (factor < 1.0) keys.refuse("rope.scaling.factor", "a number from 1");
        model.rotary_scaling = RotaryScaling::linear;
        model.rotary_factor = factor;
    }
    if (const auto* const factors = file.find(rotary_factors_tensor)) {
        if (model.rotary_scaling != RotaryScaling::none)
            throw InputError(file.path() + ": has rope_freqs.weight and rope.scaling.type = linear; " +
                             "expected one of both");
        set_llama3_scaling(file.path(), *factors, model);
    }
}

void read_llama(const gguf::File& file, ArchitectureKeys& keys, ModelConfig& model) {
    read_sizes(file, keys, model);
    model.norm = NormKind::rms_norm;
    model.norm_eps = keys.positive("attention.layer_norm_rms_epsilon", 1e-6);
    model.activation = ActivationKind::swiglu;
    model.positions = config::Positions::rotary;
    model.bias = false;
    read_rotary(file, keys, model);
}

void read_gpt2(const gguf::File& file, ArchitectureKeys& keys, ModelConfig& model) {
    read_sizes(file, keys, model);
    model.norm_eps = keys.positive("attention.layer_norm_epsilon", 1e-5);
    model.activation = ActivationKind::gelu_tanh;
}

void read(const gguf::File& file, GgufModel& result) {
    const MetadataReader reader(file);
    if (reader.whole("split.count", 1) > 1)
        reader.refuse("split.count", "a whole model in one file; llama-gguf-split --merge joins the parts");
    const auto type = reader.text("general.type", "model");
    if (type != "model") reader.refuse("general.type", "'model'");
    const auto architecture = reader.text("general.architecture");
    ArchitectureKeys keys(file, architecture);
    if (architecture == "llama") {
        result.family = GgufFamily::llama;
        read_llama(file, keys, result.model);
    } else if (architecture == "gpt2") {
        result.family = GgufFamily::gpt2;
        read_gpt2(file, keys, result.model);
    } else {
        reader.refuse("general.architecture", "'llama' or 'gpt2'");
    }
    refuse_other_formulas(keys);
    for (const auto& key : keys.rest())
        result.notes.push_back(file.path() + ": " + base::quoted(key) +
                               " is not known here and was not looked at");
}

}  // namespace

GgufModel read_gguf_model(const gguf::File& file) {
    GgufModel result;
    try {
        read(file, result);
    } catch (const InputError& error) {
        result.error = error.what();
    }
    return result;
}

config::ModelFolder read_gguf_config(const std::string& path) {
    const auto opened = gguf::File::open(path);
    if (!opened.file) return {path, "", opened.error};
    const auto read = read_gguf_model(*opened.file);
    if (!read.error.empty()) return {path, "", read.error};
    return {path, model_toml(read.model, path), ""};
}

}  // namespace switchyard::model

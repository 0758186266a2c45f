#include "core/workbench/model/weights/huggingface_reader.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "core/kernel/base/printable.h"

namespace switchyard::model {
namespace {

using nlohmann::json;

constexpr const char* not_computed =
    "; what it changes is not computed here: take a model without it, or train one of your own";

struct Formula {
    const char* key;
    json neutral;  // the value that changes nothing
};

// What transformers' models read, or have read, to compute in another way (configuration_*.py of releases 4
// and 5).
const std::vector<Formula>& formulas() {
    static const std::vector<Formula> all{{"add_cross_attention", false},
                                          {"alibi", false},
                                          {"attention_bias", false},
                                          {"attention_multiplier", 1.0},
                                          {"attn_logit_softcapping", 0.0},
                                          {"cross_attention_hidden_size", 0},
                                          {"embedding_multiplier", 1.0},
                                          {"embedding_size", 0},
                                          {"final_logit_softcapping", 0.0},
                                          {"is_decoder", false},
                                          {"is_encoder_decoder", false},
                                          {"logit_scale", 1.0},
                                          {"logits_scaling", 1.0},
                                          {"mlp_bias", false},
                                          {"no_rope_layers", json::array()},
                                          {"num_experts", 0},
                                          {"num_local_experts", 0},
                                          {"partial_rotary_factor", 1.0},
                                          {"position_embedding_type", "absolute"},
                                          {"pruned_heads", json::object()},
                                          {"qk_layernorm", false},
                                          {"quantization_config", json::object()},
                                          {"query_pre_attn_scalar", 0},
                                          {"reorder_and_upcast_attn", false},
                                          {"residual_multiplier", 1.0},
                                          {"rope_interleaved", false},
                                          {"rope_parameters", json::object()},
                                          {"rope_scaling", json::object()},
                                          {"rotary_pct", 1.0},
                                          {"scale_attn_by_inverse_layer_idx", false},
                                          {"scale_attn_weights", true},
                                          {"sliding_window", 0},
                                          {"tie_encoder_decoder", false},
                                          {"use_bias", false},
                                          {"use_parallel_residual", false},
                                          {"use_qk_norm", false},
                                          {"use_sliding_window", false}};
    return all;
}

// Names, numbers of tokens, how weights begin, dropout of heads, how text is generated, what a call returns.
constexpr std::array passed{"_attn_implementation",
                            "_attn_implementation_autoset",
                            "_attn_implementation_internal",
                            "_name_or_path",
                            "architectures",
                            "attn_implementation",
                            "bad_words_ids",
                            "begin_suppress_tokens",
                            "bos_token_id",
                            "chunk_size_feed_forward",
                            "classifier_dropout",
                            "cls_token_id",
                            "decoder_start_token_id",
                            "dense_act_fn",
                            "directionality",
                            "diversity_penalty",
                            "do_sample",
                            "dtype",
                            "early_stopping",
                            "encoder_no_repeat_ngram_size",
                            "eos_token_id",
                            "exponential_decay_length_penalty",
                            "finetuning_task",
                            "forced_bos_token_id",
                            "forced_eos_token_id",
                            "gradient_checkpointing",
                            "id2label",
                            "initializer_factor",
                            "initializer_range",
                            "is_gated_act",
                            "label2id",
                            "length_penalty",
                            "mask_token_id",
                            "max_length",
                            "max_window_layers",
                            "min_length",
                            "model_type",
                            "n_ctx",
                            "name_or_path",
                            "no_repeat_ngram_size",
                            "num_beam_groups",
                            "num_beams",
                            "num_labels",
                            "num_return_sequences",
                            "output_attentions",
                            "output_hidden_states",
                            "output_past",
                            "output_scores",
                            "pad_token_id",
                            "pooler_fc_size",
                            "pooler_num_attention_heads",
                            "pooler_num_fc_layers",
                            "pooler_size_per_head",
                            "pooler_type",
                            "prefix",
                            "pretraining_tp",
                            "problem_type",
                            "remove_invalid_values",
                            "repetition_penalty",
                            "return_dict",
                            "return_dict_in_generate",
                            "sep_token_id",
                            "summary_activation",
                            "summary_first_dropout",
                            "summary_last_dropout",
                            "summary_proj_to_labels",
                            "summary_type",
                            "summary_use_proj",
                            "suppress_tokens",
                            "task_specific_params",
                            "temperature",
                            "tf_legacy_loss",
                            "tokenizer_class",
                            "top_k",
                            "top_p",
                            "torch_dtype",
                            "torchscript",
                            "transformers_version",
                            "typical_p",
                            "unk_token_id",
                            "use_bfloat16",
                            "use_cache",
                            "vocab_type"};

std::string shown(const json& value) {
    auto text = value.is_string() ? "'" + value.get<std::string>() + "'"
                                  : value.dump(-1, ' ', false, json::error_handler_t::replace);
    if (text.size() > 60) text = text.substr(0, 57) + "...";
    return base::printable(text);
}

// All layers attend to everything.
bool only_full_attention(const json& layer_types) {
    return layer_types.is_array() && std::all_of(layer_types.begin(), layer_types.end(),
                                                 [](const json& type) { return type == "full_attention"; });
}

}  // namespace

HuggingFaceReader::HuggingFaceReader(const json& object, std::string prefix)
    : object_(object), prefix_(std::move(prefix)) {}

bool HuggingFaceReader::has(const char* key) const {
    read_.insert(key);
    return object_.contains(key) && !object_[key].is_null();
}

std::int64_t HuggingFaceReader::whole(const char* key) const {
    const bool good = has(key) && object_[key].is_number_integer() && object_[key].get<std::int64_t>() > 0;
    if (!good) refuse(key, "expected a whole number from 1");
    return object_[key].get<std::int64_t>();
}

std::int64_t HuggingFaceReader::whole(const char* key, std::int64_t otherwise) const {
    return has(key) ? whole(key) : otherwise;
}

double HuggingFaceReader::number(const char* key, double otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_number()) refuse(key, "expected a number");
    return object_[key].get<double>();
}

bool HuggingFaceReader::flag(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_boolean()) refuse(key, "expected true or false");
    return object_[key].get<bool>();
}

std::string HuggingFaceReader::text(const char* key, const char* otherwise) const {
    if (!has(key)) return otherwise;
    if (!object_[key].is_string()) refuse(key, "expected a text");
    return object_[key].get<std::string>();
}

HuggingFaceReader HuggingFaceReader::part(const char* key) const {
    if (!has(key) || !object_[key].is_object()) refuse(key, "expected an object");
    return HuggingFaceReader(object_[key], prefix_ + key + ".");
}

void HuggingFaceReader::expect(const char* key, const json& only) const {
    if (has(key) && object_[key] != only) refuse(key, "expected " + shown(only));
}

std::vector<std::string> HuggingFaceReader::refuse_the_rest() const {
    for (const auto& formula : formulas()) {
        if (!read_.contains(formula.key)) expect(formula.key, formula.neutral);
    }
    if (has("layer_types") && !only_full_attention(object_["layer_types"]))
        refuse("layer_types", "expected a list of 'full_attention'");
    std::vector<std::string> unknown;
    for (const auto& [key, value] : object_.items()) {
        const bool known =
            read_.contains(key) || std::find(passed.begin(), passed.end(), key) != passed.end();
        if (!known && !value.is_null()) unknown.push_back(prefix_ + key);
    }
    return unknown;
}

void HuggingFaceReader::refuse(const char* key, const std::string& expected) const {
    const auto found = object_.find(key);
    const bool formula = std::any_of(formulas().begin(), formulas().end(),
                                     [&](const Formula& one) { return std::string_view(one.key) == key; });
    throw std::invalid_argument(prefix_ + key + ": " + expected + ", got " +
                                (found == object_.end() ? "nothing" : shown(*found)) +
                                (formula ? not_computed : ""));
}

}  // namespace switchyard::model

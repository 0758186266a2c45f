// config.json as transformers 5 writes it (tests/fixtures/make_transformers5.py), and the keys of both
// releases that change what a model computes. To add a case: a key with the value that changes nothing and
// one that does.
#include <fstream>

#include <nlohmann/json.hpp>

#include "core/workbench/model/weights/huggingface_config.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;

namespace {

model::HuggingFaceConfig fixture(const std::string& name) {
    return model::read_huggingface_config(
        (test::source_dir() / "tests/fixtures/transformers5" / (name + ".json")).string());
}

// A fixture with more keys, as written in JSON, in place of those that are there already.
model::HuggingFaceConfig with(const std::string& name, const std::string& keys) {
    std::ifstream file(test::source_dir() / "tests/fixtures/transformers5" / (name + ".json"));
    auto config = nlohmann::json::parse(file);
    config.update(nlohmann::json::parse("{" + keys + "}"));
    const auto path = test::temporary_dir("config").string() + "/config.json";
    std::ofstream(path) << config.dump(2);
    return model::read_huggingface_config(path);
}

std::string error_of(const std::string& name) {
    const auto error = fixture(name).error;
    const auto place = error.find(".json: ");
    return place == std::string::npos ? error : error.substr(place + 7);
}

}  // namespace

TEST_CASE("theta is read where transformers 5 writes it") {
    const auto llama = fixture("llama");
    REQUIRE(llama.error == "");
    CHECK(llama.model.rotary_theta == 500000.0);
    CHECK(llama.model.kv_heads == 2);
    CHECK(llama.notes.empty());
    CHECK(fixture("llama_plain").model.rotary_theta == 10000.0);
    CHECK(with("llama", R"("rope_parameters":{"rope_theta":123.5})").model.rotary_theta == 123.5);
    CHECK(with("llama", R"("rope_parameters":null)").model.rotary_theta == 10000.0);
    CHECK(
        with("llama", R"("rope_parameters":null,"rope_theta":7e5,"rope_scaling":null)").model.rotary_theta ==
        7e5);
    CHECK(
        with("llama", R"("rope_parameters":null,"rope_theta":7e5,"rope_scaling":{"type":"default"})").error ==
        "");
    CHECK_THAT(with("llama", R"("rope_theta":7e5)").error,
               contains("rope_theta: expected what rope_parameters.rope_theta says, got 700000.0"));
    CHECK_THAT(
        with("llama", R"("rope_parameters":{"full_attention":{"rope_theta":1e4}})").error,
        contains("rope_parameters.full_attention: not known of rotary positions of the type 'default'"));
    CHECK_THAT(with("llama", R"("rope_parameters":[1])").error,
               contains("rope_parameters: expected an object"));
}

TEST_CASE("rotary positions that are scaled as here are read where both releases write them") {
    using config::RotaryScaling;
    const auto linear = fixture("llama_linear");
    REQUIRE(linear.error == "");
    CHECK(linear.model.rotary_scaling == RotaryScaling::linear);
    CHECK(linear.model.rotary_factor == 4.0);
    CHECK(linear.model.rotary_theta == 500000.0);
    const auto llama3 = fixture("llama_llama3");
    REQUIRE(llama3.error == "");
    CHECK(llama3.model.rotary_scaling == RotaryScaling::llama3);
    CHECK(llama3.model.rotary_factor == 8.0);
    CHECK(llama3.model.rotary_low_freq_factor == 1.0);
    CHECK(llama3.model.rotary_high_freq_factor == 4.0);
    CHECK(llama3.model.rotary_original_positions == 1024);
    const auto older = with("llama", R"("rope_parameters":null,"rope_theta":5e5,"rope_scaling":{"factor":8.0,
        "low_freq_factor":1.0,"high_freq_factor":4.0,"original_max_position_embeddings":1024,
        "type":"llama3","rope_type":"llama3"})");
    REQUIRE(older.error == "");
    CHECK(older.model == llama3.model);
}

TEST_CASE("scalings of rotary positions that both releases' keys give must be the same") {
    const std::string linear = R"("rope_scaling":{"rope_type":"linear","factor":4.0})";
    const std::string expected = "rope_scaling: rope_parameters scales rotary positions in another way";
    CHECK(with("llama_linear", linear).error == "");
    CHECK(with("llama_linear", linear).model == fixture("llama_linear").model);
    CHECK(with("llama", R"("rope_scaling":{"rope_type":"default"})").error == "");
    CHECK_THAT(with("llama", linear).error, contains(expected));
    CHECK_THAT(with("llama_llama3", linear).error, contains(expected));
    CHECK_THAT(with("llama_linear", R"("rope_scaling":{"type":"linear","factor":8.0})").error,
               contains(expected));
}

TEST_CASE("a T5's decoder begins with padding") {
    CHECK(with("t5", R"("decoder_start_token_id":3,"pad_token_id":3)").error == "");
    CHECK(with("t5", R"("decoder_start_token_id":0,"pad_token_id":null)").error == "");
    CHECK_THAT(with("t5", R"("decoder_start_token_id":7)").error,
               contains("decoder_start_token_id: expected what pad_token_id says, for a decoder begins with "
                        "that here, got 7"));
}

TEST_CASE("numbers of scaled rotary positions that are missing or wrong are told by their key") {
    const auto scaled = [](const std::string& keys) {
        return with("llama", R"("rope_parameters":{"rope_theta":5e5,)" + keys + "}").error;
    };
    CHECK_THAT(scaled(R"("rope_type":"linear")"),
               contains("rope_parameters.factor: expected a number from 1, got nothing"));
    CHECK_THAT(scaled(R"("rope_type":"linear","factor":0.5)"),
               contains("rope_parameters.factor: expected a number from 1, got 0.5"));
    CHECK_THAT(scaled(R"("rope_type":"linear","factor":2.0,"beta_fast":32.0)"),
               contains("rope_parameters.beta_fast: not known of rotary positions of the type 'linear'"));
    const std::string llama3 = R"("rope_type":"llama3","factor":8.0)";
    CHECK_THAT(scaled(llama3),
               contains("rope_parameters.low_freq_factor: expected a number above 0, got nothing"));
    CHECK_THAT(scaled(llama3 + R"(,"low_freq_factor":4.0,"high_freq_factor":4.0)"),
               contains("rope_parameters.high_freq_factor: expected more than low_freq_factor, got 4.0"));
    CHECK_THAT(scaled(llama3 + R"(,"low_freq_factor":1.0,"high_freq_factor":4.0)"),
               contains("rope_parameters.original_max_position_embeddings: expected a whole number from 1"));
}

TEST_CASE("other scalings of rotary positions are refused with the name of what scales them") {
    const std::string expected =
        ": expected 'default', 'linear' or 'llama3': other scalings of rotary positions are not computed "
        "here, got '";
    for (const std::string type : {"dynamic", "yarn"})
        CHECK(error_of("llama_" + type) == "rope_parameters.rope_type" + expected + type + "'");
    for (const std::string type : {"dynamic", "yarn", "longrope"}) {
        for (const std::string key : {"rope_type", "type"}) {
            const auto found = with("llama", R"("rope_parameters":null,"rope_scaling":{")" + key + R"(":")" +
                                                 type + R"(","factor":2.0})");
            CHECK_THAT(found.error, contains("rope_scaling." + key + expected + type));
        }
    }
    CHECK(error_of("llama_partial") ==
          "rope_parameters.partial_rotary_factor: expected 1.0, got 0.5; what it changes is not computed "
          "here: take "
          "a model without it, or train one of your own");
}

TEST_CASE("models that transformers 5 wrote are read as what they are") {
    for (const std::string name : {"bert", "gpt2", "llama", "llama_plain", "t5", "t5_gated"}) {
        INFO(name);
        CHECK(fixture(name).error == "");
        CHECK(fixture(name).notes.empty());
    }
    const auto bert = fixture("bert");
    CHECK(bert.model.layers == 2);
    CHECK(bert.labels.size() == 3);
    CHECK(fixture("gpt2").model.intermediate_size == 40);
    CHECK(fixture("t5").model.tie_embeddings);
    // Version 1.1: its states are not scaled, for its output projection is its own, whatever the file calls
    // tied.
    CHECK_FALSE(fixture("t5_gated").model.tie_embeddings);
    CHECK(fixture("t5_gated").model.activation == ActivationKind::geglu_tanh);
}

TEST_CASE("a key that changes what the model computes is refused by name, unless it changes nothing") {
    const auto sentence =
        "; what it changes is not computed here: take a model without it, or train one of your own";
    CHECK(error_of("bert_decoder") == std::string("is_decoder: expected false, got true") + sentence);
    CHECK(error_of("gpt2_by_layer") ==
          std::string("scale_attn_by_inverse_layer_idx: expected false, got true") + sentence);
    CHECK(error_of("gpt2_upcast") ==
          std::string("reorder_and_upcast_attn: expected false, got true") + sentence);
    CHECK(error_of("llama_biased") == std::string("attention_bias: expected false, got true") + sentence);
    CHECK(error_of("llama_mlp_biased") == std::string("mlp_bias: expected false, got true") + sentence);
    struct Key {
        const char *model, *key, *neutral, *other;
    };
    for (const auto& [model, key, neutral, other] : std::vector<Key>{
             {"llama", "partial_rotary_factor", "1.0", "0.5"},
             {"llama", "sliding_window", "null", "4096"},
             {"llama", "use_sliding_window", "false", "true"},
             {"llama", "layer_types", R"(["full_attention","full_attention"])", R"(["sliding_attention"])"},
             {"llama", "attn_logit_softcapping", "null", "50.0"},
             {"llama", "final_logit_softcapping", "null", "30.0"},
             {"llama", "query_pre_attn_scalar", "null", "256"},
             {"llama", "residual_multiplier", "1.0", "0.22"},
             {"llama", "embedding_multiplier", "1", "12.0"},
             {"llama", "logits_scaling", "1.0", "8.0"},
             {"llama", "num_local_experts", "null", "8"},
             {"llama", "quantization_config", "null", R"({"quant_method":"gptq"})"},
             {"llama", "hidden_act", R"("silu")", R"("quick_gelu")"},
             {"llama", "alibi", "false", "true"},
             {"llama", "attention_multiplier", "1.0", "0.0078125"},
             {"llama", "embedding_size", "null", "128"},
             {"llama", "logit_scale", "1.0", "16.0"},
             {"llama", "no_rope_layers", "[]", "[1,1,1,0]"},
             {"llama", "num_experts", "0", "64"},
             {"llama", "qk_layernorm", "false", "true"},
             {"llama", "rope_interleaved", "false", "true"},
             {"llama", "rotary_pct", "1.0", "0.25"},
             {"llama", "use_bias", "false", "true"},
             {"llama", "use_parallel_residual", "false", "true"},
             {"llama", "use_qk_norm", "false", "true"},
             {"gpt2", "cross_attention_hidden_size", "null", "768"},
             {"gpt2", "scale_attn_weights", "true", "false"},
             {"gpt2", "add_cross_attention", "false", "true"},
             {"gpt2", "rope_parameters", "null", R"({"rope_theta":1e4})"},
             {"gpt2", "activation_function", R"("gelu_new")", R"("quick_gelu")"},
             {"bert", "position_embedding_type", R"("absolute")", R"("relative_key_query")"},
             {"bert", "type_vocab_size", "2", "4"},
             {"bert", "pruned_heads", "{}", R"({"1":[0]})"},
             {"bert", "is_encoder_decoder", "false", "true"},
             {"t5", "is_encoder_decoder", "true", "false"},
             {"t5", "tie_encoder_decoder", "false", "true"},
             {"t5", "relative_attention_num_buckets", "32", "64"},
             {"t5", "relative_attention_max_distance", "128", "256"},
             {"t5", "feed_forward_proj", R"("relu")", R"("gated-quick_gelu")"}}) {
        const std::string quoted = std::string("\"") + key + "\":";
        INFO(model << ": " << key);
        CHECK(with(model, quoted + neutral).error == "");
        const auto refused = with(model, quoted + other);
        CHECK_THAT(refused.error, contains(std::string("config.json: ") + key + ": "));
    }
}

TEST_CASE("a key that nobody knows is told by name, one that changes nothing is passed") {
    const auto good =
        with("llama", R"("use_cache":false,"torch_dtype":"bfloat16","auto_map":{"A":"b"},"new_trick":2,
                                       "nothing":null,"task_specific_params":{})");
    REQUIRE(good.error == "");
    REQUIRE(good.notes.size() == 2);
    CHECK_THAT(good.notes[0], contains("config.json: auto_map is not known here and was not looked at"));
    CHECK_THAT(good.notes[1], contains("config.json: new_trick is not known here and was not looked at"));
}

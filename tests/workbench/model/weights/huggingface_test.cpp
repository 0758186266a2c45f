// Names and config.json of Hugging Face's models, both ways. To add a name: a line in a table.
#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/huggingface_names.h"
#include "core/workbench/model/weights/huggingface_task.h"

#include <fstream>

#include "core/kernel/base/limits.h"

#include <switchyard_test.h>

using namespace switchyard;
using config::ModelType;
using model::Family;

namespace {

using Table = std::vector<std::pair<const char*, const char*>>;

void check_names(Family family, const Table& table) {
    std::vector<std::string> ours;
    for (const auto& line : table) ours.emplace_back(line.first);
    const auto theirs = model::their_tensors(family, ours);
    REQUIRE(theirs.size() == table.size());
    for (std::size_t i = 0; i < table.size(); ++i) {
        CHECK(theirs[i].name == table[i].second);
        REQUIRE(theirs[i].parts.size() == 1);
        CHECK(theirs[i].parts[0].ours == table[i].first);
        CHECK(theirs[i].parts[0].shares == 1);
    }
}

std::string parts_of(const model::TheirTensor& tensor) {
    std::string text = tensor.name + (tensor.transposed ? " transposed:" : ":");
    for (const auto& part : tensor.parts) {
        text += " " + part.ours;
        if (part.shares > 1) text += " " + std::to_string(part.share) + "/" + std::to_string(part.shares);
    }
    return text;
}

std::vector<std::string> parts_of(Family family, const std::vector<std::string>& ours) {
    std::vector<std::string> texts;
    for (const auto& tensor : model::their_tensors(family, ours)) texts.push_back(parts_of(tensor));
    return texts;
}

config::ModelConfig small(ModelType type) {
    config::ModelConfig m;
    m.type = type;
    m.layers = 3;
    m.decoder_layers = type == ModelType::t5 ? 2 : 0;
    m.hidden_size = 48;
    m.heads = m.kv_heads = 4;
    m.head_dim = 12;
    m.intermediate_size = 96;
    if (type != ModelType::bert) m.norm_position = config::NormPosition::pre;
    if (type != ModelType::bert) m.segments = 0;
    return m;
}

config::ModelConfig small_llama() {
    auto m = small(ModelType::gpt);
    m.norm = NormKind::rms_norm;
    m.positions = config::Positions::rotary;
    m.activation = ActivationKind::swiglu;
    m.bias = m.tie_embeddings = false;
    m.kv_heads = 2;
    m.head_dim = 16;
    m.rotary_theta = 5e5;
    m.dropout = 0.0;
    return m;
}

config::ModelConfig small_t5(ActivationKind activation) {
    auto m = small(ModelType::t5);
    m.norm = NormKind::rms_norm;
    m.positions = config::Positions::t5;
    m.activation = activation;
    m.bias = false;
    return m;
}

std::string write(const std::string& text) {
    const auto path = test::temporary_dir("config").string() + "/config.json";
    std::ofstream(path) << text;
    return path;
}

model::HuggingFaceConfig there_and_back(const config::ModelConfig& model) {
    return model::read_huggingface_config(write(
        model::to_huggingface_config(model, model::family_of(model),
                                     {"SomeModel", {"no", "yes"}, "single_label_classification", 0, 1, 2})));
}

}  // namespace

TEST_CASE("parameters have Hugging Face's names") {
    check_names(
        Family::bert,
        {{"embeddings.word", "bert.embeddings.word_embeddings.weight"},
         {"embeddings.norm.bias", "bert.embeddings.LayerNorm.bias"},
         {"encoder.11.attention.q.weight", "bert.encoder.layer.11.attention.self.query.weight"},
         {"encoder.0.attention.norm.weight", "bert.encoder.layer.0.attention.output.LayerNorm.weight"},
         {"encoder.3.feed_forward.in.bias", "bert.encoder.layer.3.intermediate.dense.bias"},
         {"encoder.3.feed_forward.out.bias", "bert.encoder.layer.3.output.dense.bias"},
         {"pooler.weight", "bert.pooler.dense.weight"},
         {"masked_lm.bias", "cls.predictions.bias"},
         {"lm_head.weight", "cls.predictions.decoder.weight"},
         {"next_sentence.weight", "cls.seq_relationship.weight"},
         {"classifier.bias", "classifier.bias"}});
    check_names(Family::gpt2, {{"embeddings.position", "transformer.wpe.weight"},
                               {"decoder.10.attention.norm.bias", "transformer.h.10.ln_1.bias"},
                               {"decoder.10.feed_forward.norm.weight", "transformer.h.10.ln_2.weight"},
                               {"decoder.norm.weight", "transformer.ln_f.weight"},
                               {"lm_head.weight", "lm_head.weight"}});
    check_names(Family::llama,
                {{"embeddings.word", "model.embed_tokens.weight"},
                 {"decoder.7.attention.k.weight", "model.layers.7.self_attn.k_proj.weight"},
                 {"decoder.7.attention.out.weight", "model.layers.7.self_attn.o_proj.weight"},
                 {"decoder.7.feed_forward.norm.weight", "model.layers.7.post_attention_layernorm.weight"},
                 {"decoder.norm.weight", "model.norm.weight"}});
    check_names(
        Family::t5,
        {{"embeddings.word", "shared.weight"},
         {"decoder.relative_bias", "decoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight"},
         {"decoder.1.cross.v.weight", "decoder.block.1.layer.1.EncDecAttention.v.weight"},
         {"decoder.1.cross.norm.weight", "decoder.block.1.layer.1.layer_norm.weight"},
         {"encoder.1.feed_forward.in.weight", "encoder.block.1.layer.1.DenseReluDense.wi.weight"},
         {"decoder.1.feed_forward.norm.weight", "decoder.block.1.layer.2.layer_norm.weight"},
         {"encoder.norm.weight", "encoder.final_layer_norm.weight"},
         {"lm_head.weight", "lm_head.weight"}});
    check_names(Family::own, {{"decoder.0.attention.q.weight", "decoder.0.attention.q.weight"}});
}

TEST_CASE("what Hugging Face keeps together, transposed or apart is known") {
    CHECK(parts_of(Family::gpt2, {"decoder.0.attention.q.weight", "decoder.0.attention.k.weight",
                                  "decoder.0.attention.v.weight", "decoder.1.attention.q.weight",
                                  "decoder.0.feed_forward.in.bias"}) ==
          std::vector<std::string>{
              "transformer.h.0.attn.c_attn.weight transposed: decoder.0.attention.q.weight "
              "decoder.0.attention.k.weight decoder.0.attention.v.weight",
              "transformer.h.1.attn.c_attn.weight transposed: decoder.1.attention.q.weight",
              "transformer.h.0.mlp.c_fc.bias transposed: decoder.0.feed_forward.in.bias"});
    CHECK(
        parts_of(Family::llama, {"decoder.2.feed_forward.in.weight"}) ==
        std::vector<std::string>{"model.layers.2.mlp.gate_proj.weight: decoder.2.feed_forward.in.weight 0/2",
                                 "model.layers.2.mlp.up_proj.weight: decoder.2.feed_forward.in.weight 1/2"});
    CHECK(parts_of(Family::t5_gated, {"decoder.2.feed_forward.in.weight"}) ==
          std::vector<std::string>{
              "decoder.block.2.layer.2.DenseReluDense.wi_0.weight: decoder.2.feed_forward.in.weight 0/2",
              "decoder.block.2.layer.2.DenseReluDense.wi_1.weight: decoder.2.feed_forward.in.weight 1/2"});
}

TEST_CASE("older spellings and missing prefixes are understood") {
    const auto bert = model::their_tensors(
        Family::bert, {"embeddings.norm.bias", "encoder.2.feed_forward.norm.weight", "pooler.bias"});
    const auto modern = [&](const char* name) { return model::modern_name(Family::bert, name, bert); };
    CHECK(modern("encoder.layer.2.output.LayerNorm.gamma") == "bert.encoder.layer.2.output.LayerNorm.weight");
    CHECK(modern("bert.embeddings.LayerNorm.beta") == "bert.embeddings.LayerNorm.bias");
    CHECK(modern("pooler.dense.bias") == "bert.pooler.dense.bias");
    CHECK(modern("embeddings.position_ids") == "embeddings.position_ids");
    CHECK(modern("encoder.layer.x.output.dense.bias") == "encoder.layer.x.output.dense.bias");
    const auto gpt2 = model::their_tensors(Family::gpt2, {"decoder.0.attention.norm.weight"});
    CHECK(model::modern_name(Family::gpt2, "h.0.ln_1.weight", gpt2) == "transformer.h.0.ln_1.weight");
    CHECK(model::modern_name(Family::gpt2, "h.0.attn.bias", gpt2) == "h.0.attn.bias");
}

TEST_CASE("a model is of the family that computes the same") {
    CHECK(model::family_of(small(ModelType::bert)) == Family::bert);
    CHECK(model::family_of(small(ModelType::gpt)) == Family::gpt2);
    CHECK(model::family_of(small_llama()) == Family::llama);
    CHECK(model::family_of(small_t5(ActivationKind::relu)) == Family::t5);
    CHECK(model::family_of(small_t5(ActivationKind::geglu_tanh)) == Family::t5_gated);
    CHECK(model::family_of(small_t5(ActivationKind::geglu_erf)) == Family::own);
    auto windowed = small(ModelType::gpt);
    windowed.window = 5;
    CHECK(model::family_of(windowed) == Family::own);
    auto grouped = small(ModelType::gpt);
    grouped.kv_heads = 2;
    CHECK(model::family_of(grouped) == Family::own);
    auto biased = small_llama();
    biased.bias = true;
    CHECK(model::family_of(biased) == Family::own);
}

TEST_CASE("config.json comes back as it was written") {
    auto bert = small(ModelType::bert);
    bert.activation = ActivationKind::gelu_tanh;
    auto gpt2 = small(ModelType::gpt);
    gpt2.tie_embeddings = false;
    auto alibi = small(ModelType::gpt);
    alibi.positions = config::Positions::alibi;
    alibi.soft_cap = 2.5;
    for (const auto& model : {bert, gpt2, alibi, small_llama(), small_t5(ActivationKind::relu),
                              small_t5(ActivationKind::geglu_tanh)}) {
        const auto back = there_and_back(model);
        INFO(name(model.type));
        REQUIRE(back.error == "");
        CHECK(model::differences(model, back.model) == std::vector<std::string>{});
        CHECK(back.labels == std::vector<std::string>{"no", "yes"});
    }
    auto endless = small_t5(ActivationKind::geglu_tanh);
    endless.max_positions = 0;  // as a t5 1.1 says it
    CHECK(there_and_back(endless).error == "");
    CHECK(there_and_back(endless).model.max_positions == 0);
    auto other = small(ModelType::bert);
    other.hidden_size = 96;
    CHECK(model::differences(small(ModelType::bert), other) ==
          std::vector<std::string>{"hidden_size: 48 configured, 96 in config.json"});
    CHECK(model::differences(small_llama(), there_and_back(gpt2).model).size() == 7);
}

TEST_CASE("a config.json that cannot be used says which key") {
    const auto error_of = [](const std::string& text) {
        const auto path = write(text);
        return model::read_huggingface_config(path).error.substr(path.size());
    };
    CHECK(error_of("[]") == ":1: error: expected a JSON object, got a list");
    CHECK_THAT(error_of("{\"a\":" + std::string(60'000, '[') + std::string(60'000, ']') + "}"),
               test::contains(":1:69: error: not valid JSON: more than 64 lists and objects"));
    CHECK_THAT(error_of("{\"model_type\":\n nan}"), test::contains(":2:3: error: not valid JSON: "));
    CHECK(
        error_of("{\"model_type\":\"mamba\"}") ==
        ": model_type: expected one of 'bert', 'roberta', 'distilbert', 'gpt2', 'llama', 't5', got 'mamba'");
    CHECK(error_of("{\"model_type\":\"bert\"}") ==
          ": num_hidden_layers: expected a whole number from 1, got nothing");
    CHECK(error_of("{\"model_type\":\"bert\",\"num_hidden_layers\":-1}") ==
          ": num_hidden_layers: expected a whole number from 1, got -1");
    CHECK(error_of(R"({"model_type":"t5","feed_forward_proj":"gated-mish","num_layers":1,"d_model":8,
                      "num_heads":2,"d_kv":4,"d_ff":8,"vocab_size":9})") ==
          ": feed_forward_proj: 'gated-mish' is not one of gated-silu, gated-gelu, gated-relu");
    CHECK(error_of(R"({"model_type":"switchyard"})") == ": model: expected the section [model]");
    CHECK_THAT(error_of(R"({"model_type":"switchyard","model":{"layers":"many"}})"),
               test::contains("model.layers: got the string \"many\"; expected an integer"));
}

TEST_CASE("a config.json has as many labels without names as a vocabulary may have tokens") {
    const auto read = [](const std::string& count) {
        return model::read_huggingface_task(
            write(R"({"architectures": ["BertForSequenceClassification"], "num_labels": )" + count + "}"));
    };
    CHECK(read("4194304").task.labels.size() == base::limits::vocabulary_entries);
    CHECK_THAT(read("4194305").error, test::contains("num_labels: expected a number from 1 to 4194304"));
}

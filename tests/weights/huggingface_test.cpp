// Names and config.json of Hugging Face's BERT, both ways. To add a name: a line in the table.
#include <switchyard/model/weights/huggingface_config.h>
#include <switchyard/model/weights/huggingface_names.h>

#include <fstream>

#include <switchyard_test.h>

using namespace switchyard;
using config::ModelType;

TEST_CASE("parameters have Hugging Face's names, both ways") {
    const std::pair<const char*, const char*> table[] = {
        {"embeddings.word", "bert.embeddings.word_embeddings.weight"},
        {"embeddings.norm.bias", "bert.embeddings.LayerNorm.bias"},
        {"encoder.11.attention.q.weight", "bert.encoder.layer.11.attention.self.query.weight"},
        {"encoder.0.attention.norm.weight", "bert.encoder.layer.0.attention.output.LayerNorm.weight"},
        {"encoder.3.feed_forward.in.bias", "bert.encoder.layer.3.intermediate.dense.bias"},
        {"encoder.3.feed_forward.out.bias", "bert.encoder.layer.3.output.dense.bias"},
        {"pooler.weight", "bert.pooler.dense.weight"},
        {"masked_lm.bias", "cls.predictions.bias"},
        {"masked_lm.out.weight", "cls.predictions.decoder.weight"},
        {"next_sentence.weight", "cls.seq_relationship.weight"},
        {"classifier.bias", "classifier.bias"},
    };
    for (const auto& [ours, theirs] : table) {
        INFO(ours);
        CHECK(model::to_huggingface(ModelType::bert, ours) == theirs);
        CHECK(model::from_huggingface(ModelType::bert, theirs) == ours);
    }
    CHECK(model::from_huggingface(ModelType::bert, "encoder.layer.2.output.LayerNorm.gamma") ==
          "encoder.2.feed_forward.norm.weight");
    CHECK(model::from_huggingface(ModelType::bert, "embeddings.LayerNorm.beta") == "embeddings.norm.bias");
    CHECK_FALSE(model::from_huggingface(ModelType::bert, "embeddings.position_ids"));
    CHECK_FALSE(model::from_huggingface(ModelType::bert, "encoder.layer.x.output.dense.bias"));
}

TEST_CASE("config.json comes back as it was written") {
    config::ModelConfig model;
    model.layers = 3;
    model.hidden_size = 48;
    model.heads = model.kv_heads = 4;
    model.head_dim = 12;
    model.intermediate_size = 96;
    model.activation = ActivationKind::gelu_tanh;
    const auto path = test::temporary_dir("config").string() + "/config.json";
    std::ofstream(path) << model::to_huggingface_config(model, "BertForSequenceClassification",
                                                        {"no", "yes"});
    const auto back = model::read_huggingface_config(path);
    REQUIRE(back.error.empty());
    CHECK(model::differences(model, back.model).empty());
    CHECK(back.labels == std::vector<std::string>{"no", "yes"});
    auto other = model;
    other.hidden_size = 96;
    CHECK(model::differences(model, other) ==
          std::vector<std::string>{"hidden_size: 48 configured, 96 in config.json"});
}

TEST_CASE("a config.json that cannot be used says which key") {
    const auto error_of = [](const std::string& text) {
        const auto path = test::temporary_dir("config").string() + "/config.json";
        std::ofstream(path) << text;
        return model::read_huggingface_config(path).error.substr(path.size());
    };
    CHECK(error_of("[]") == ": is no JSON object");
    CHECK(error_of("{\"model_type\":\"gpt2\"}") == ": model_type: expected 'bert', got 'gpt2'");
    CHECK(error_of("{\"model_type\":\"bert\"}") ==
          ": num_hidden_layers: expected a whole number from 1, got nothing");
    CHECK(error_of("{\"model_type\":\"bert\",\"num_hidden_layers\":-1}") ==
          ": num_hidden_layers: expected a whole number from 1, got -1");
    CHECK_THAT(error_of("{\"model_type\":\"bert\",\"position_embedding_type\":\"relative_key\"}"),
               test::contains("is not served; expected 'absolute'"));
}

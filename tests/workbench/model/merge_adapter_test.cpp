// Adapters of PEFT's form merged into folders of a few small numbers, against what is computed here.
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/matmul.h>
#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/merge_adapter.h"
#include "core/workbench/model/weights/tensors.h"

#include <switchyard_test.h>

using namespace switchyard;
using nlohmann::json;

namespace {

namespace fs = std::filesystem;
using Tensors = std::vector<model::NamedTensor>;

// Small whole numbers, others for each `first`; their products are exact.
at::Tensor numbers(std::int64_t rows, std::int64_t columns, std::int64_t first) {
    return (at::arange(rows * columns).mul(7).add(first).remainder(11) - 5)
        .to(at::kFloat)
        .view({rows, columns});
}

std::string prefixed(const std::string& name) { return "base_model.model." + name; }

// A model and an adapter of it, each a folder.
struct Merge {
    Merge(const json& config, const Tensors& base, const json& adapter_config, const Tensors& tensors) {
        write(config, "config.json", base, model_folder, "model.safetensors");
        json whole{{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}};
        whole.update(adapter_config);
        auto named = tensors;
        for (auto& tensor : named) tensor.name = prefixed(tensor.name);
        write(whole, model::adapter_config_file, named, adapter, model::adapter_weights_file);
    }

    model::MergeResult merge() const { return model::merge_adapter(adapter, model_folder, merged); }

    // Of the merged model.
    json config() const {
        std::ifstream in(merged + "/config.json");
        return json::parse(in);
    }
    std::size_t size() const {
        return model::SafetensorsFile::open(merged + "/model.safetensors").file->tensors().size();
    }
    at::Tensor tensor(const std::string& name) const {
        const auto opened = model::SafetensorsFile::open(merged + "/model.safetensors");
        REQUIRE(opened.error == "");
        const auto* const found = opened.file->find(name);
        INFO(name);
        REQUIRE(found != nullptr);
        return model::view_stored(opened.file, *found).clone();
    }

    fs::path folder = test::temporary_dir("merge");
    std::string model_folder = (folder / "model").string(), adapter = (folder / "adapter").string(),
                merged = (folder / "merged").string();

private:
    static void write(const json& config, const std::string& config_name, const Tensors& tensors,
                      const std::string& to, const std::string& weights_name) {
        fs::create_directories(to);
        std::ofstream(to + "/" + config_name) << config.dump();
        REQUIRE_FALSE(model::write_safetensors(to + "/" + weights_name, tensors, {{"format", "pt"}}));
    }
};

const json llama{{"architectures", {"LlamaForCausalLM"}}, {"model_type", "llama"}, {"vocab_size", 5}};

}  // namespace

TEST_CASE("merge scales by the alpha whose name a module's ends with, and by the rank that lora_A has") {
    const auto q = numbers(2, 3, 1), v = numbers(2, 3, 2), o = numbers(2, 3, 3);
    const auto qa = numbers(2, 3, 4), qb = numbers(2, 2, 5), va = numbers(4, 3, 6), vb = numbers(2, 4, 7),
               oa = numbers(4, 3, 8), ob = numbers(2, 4, 9);
    const Merge of(llama, {{"h.q_proj.weight", q}, {"h.v_proj.weight", v}, {"h.o_proj.weight", o}},
                   {{"rank_pattern", {{"q_proj", 2}}}, {"alpha_pattern", {{"v_proj", 32}}}},
                   {{"h.q_proj.lora_A.weight", qa},
                    {"h.q_proj.lora_B.weight", qb},
                    {"h.v_proj.lora_A.weight", va},
                    {"h.v_proj.lora_B.weight", vb},
                    {"h.o_proj.lora_A.weight", oa},
                    {"h.o_proj.lora_B.weight", ob}});
    CHECK(of.merge().merged.size() == 3);
    CHECK(of.tensor("h.q_proj.weight").equal(q + at::matmul(qb, qa) * 4));
    CHECK(of.tensor("h.v_proj.weight").equal(v + at::matmul(vb, va) * 8));
    CHECK(of.tensor("h.o_proj.weight").equal(o + at::matmul(ob, oa) * 2));
}

TEST_CASE("the first pattern that is a module's name, or its end behind a dot, says its alpha") {
    model::AdapterConfig adapter;
    adapter.alphas = {{"1.v_proj", 16.0}, {"v_proj", 32.0}, {"^h.q_proj", 64.0}, {"proj", 128.0}};
    CHECK(adapter.scale("h.1.v_proj", 4) == 4.0);
    CHECK(adapter.scale("h.11.v_proj", 4) == 8.0);
    CHECK(adapter.scale("v_proj", 4) == 8.0);
    CHECK(adapter.scale("h.q_proj", 4) == 16.0);
    CHECK(adapter.scale("x.h.q_proj", 4) == 2.0);
    CHECK(adapter.scale("h.o_proj", 2) == 4.0);
}

TEST_CASE("merge adds the adapter of an embedding to its table, of which a row is a token") {
    const auto table = numbers(5, 3, 1), q = numbers(3, 3, 2), a = numbers(4, 5, 3), b = numbers(3, 4, 4),
               qa = numbers(4, 3, 5), qb = numbers(3, 4, 6);
    const bool transposed = GENERATE(false, true);  // of linear layers alone
    const Merge of(llama, {{"model.embed_tokens.weight", table}, {"h.q_proj.weight", q}},
                   {{"fan_in_fan_out", transposed}, {"task_type", "CAUSAL_LM"}},
                   {{"model.embed_tokens.base_layer.weight", table},
                    {"model.embed_tokens.lora_embedding_A", a},
                    {"model.embed_tokens.lora_embedding_B", b},
                    {"h.q_proj.lora_A.weight", qa},
                    {"h.q_proj.lora_B.weight", qb}});
    const auto result = of.merge();
    CHECK(result.merged.size() == 2);
    CHECK(result.whole.empty());
    CHECK(of.size() == 2);
    CHECK(of.tensor("model.embed_tokens.weight").equal(table + at::matmul(b, a).t() * 2));
    const auto added = at::matmul(qb, qa) * 2;
    CHECK(of.tensor("h.q_proj.weight").equal(q + (transposed ? added.t() : added)));
    CHECK(of.config() == llama);
}

TEST_CASE("tables of tokens with other rows take the place of the base's, and the vocabulary has as many") {
    const auto old_table = numbers(5, 3, 1), old_head = numbers(5, 3, 2), table = numbers(6, 3, 3),
               head = numbers(6, 3, 4), a = numbers(4, 6, 5), b = numbers(3, 4, 6), none = numbers(6, 3, 7);
    const Tensors base{{"model.embed_tokens.weight", old_table}, {"lm_head.weight", old_head}};
    // As PEFT saves modules_to_save of a vocabulary that was resized.
    const Merge saved(llama, base,
                      {{"task_type", "CAUSAL_LM"}, {"modules_to_save", {"embed_tokens", "lm_head"}}},
                      {{"model.embed_tokens.modules_to_save.weight", table},
                       {"model.embed_tokens.original_module.weight", none},
                       {"model.embed_tokens.weight", table},
                       {"lm_head.modules_to_save.weight", head},
                       {"lm_head.original_module.weight", none}});
    CHECK(saved.merge().whole.size() == 2);
    CHECK(saved.size() == 2);
    CHECK(saved.tensor("model.embed_tokens.weight").equal(table));
    CHECK(saved.tensor("lm_head.weight").equal(head));
    CHECK(saved.config()["vocab_size"] == 6);
    // With an adapter of the table that was resized.
    const Merge adapted(llama, base, {{"task_type", "CAUSAL_LM"}, {"target_modules", {"embed_tokens"}}},
                        {{"model.embed_tokens.base_layer.weight", table},
                         {"model.embed_tokens.lora_embedding_A", a},
                         {"model.embed_tokens.lora_embedding_B", b},
                         {"lm_head.weight", head}});
    CHECK(adapted.merge().merged.size() == 1);
    CHECK(adapted.tensor("model.embed_tokens.weight").equal(table + at::matmul(b, a).t() * 2));
    CHECK(adapted.tensor("lm_head.weight").equal(head));
    CHECK(adapted.config()["vocab_size"] == 6);
}

TEST_CASE("an output projection that the adapter trained apart from the table of tokens is tied no longer") {
    const auto old_table = numbers(5, 3, 1), table = numbers(5, 3, 2), head = numbers(5, 3, 3);
    const bool apart = GENERATE(true, false);
    // config.json, the table's name in the base and in the adapter
    const auto merged = [&](const json& config, const std::string& in_base, const std::string& name) {
        const Merge of(config, {{in_base, old_table}},
                       {{"task_type", "CAUSAL_LM"}, {"modules_to_save", {"embed_tokens", "lm_head"}}},
                       {{name, table}, {"lm_head.weight", apart ? head : table}});
        CHECK(of.merge().whole.size() == 2);
        CHECK(of.tensor(name).equal(table));
        CHECK(of.tensor("lm_head.weight").equal(apart ? head : table));
        return of.config().value("tie_word_embeddings", json("as the model has it"));
    };
    json smol = llama;
    smol["tie_word_embeddings"] = true;
    CHECK(merged(smol, "model.embed_tokens.weight", "model.embed_tokens.weight") == !apart);
    const json gpt2{{"architectures", {"GPT2LMHeadModel"}}, {"model_type", "gpt2"}, {"vocab_size", 5}};
    CHECK(merged(gpt2, "wte.weight", "transformer.wte.weight") ==
          (apart ? json(false) : json("as the model has it")));
    // Whatever it is stored in.
    const Merge narrow(smol, {{"model.embed_tokens.weight", table.to(at::kBFloat16)}},
                       {{"task_type", "CAUSAL_LM"}}, {{"lm_head.weight", apart ? head : table}});
    narrow.merge();
    CHECK(narrow.config()["tie_word_embeddings"] == !apart);
}

TEST_CASE("a T5 that scales its tied output projection has no place for one of the adapter's own") {
    const auto table = numbers(5, 3, 1), head = numbers(5, 3, 2);
    const auto merged = [&](const json& more, const at::Tensor& own) {
        json config{{"architectures", {"T5ForConditionalGeneration"}}, {"model_type", "t5"}};
        config.update(more);
        const Merge of(config, {{"shared.weight", table}}, {{"task_type", "SEQ_2_SEQ_LM"}},
                       {{"lm_head.weight", own}});
        std::string message;
        try {
            of.merge();
        } catch (const base::InputError& error) {
            message = error.what();
        }
        CHECK(fs::exists(of.merged) == message.empty());
        return message;
    };
    for (const json& tied : {json::object(), json{{"tie_word_embeddings", true}}})
        CHECK_THAT(merged(tied, head),
                   test::contains("has an output projection of its own, lm_head.weight") &&
                       test::contains("or a base whose tie_word_embeddings is false"));
    CHECK(merged(json::object(), table) == "");
    CHECK(merged({{"tie_word_embeddings", false}}, head) == "");
    CHECK(merged({{"tie_word_embeddings", true}, {"scale_decoder_outputs", false}}, head) == "");
}

TEST_CASE("merge adds a product to the weight that was trained whole and saved beside it") {
    const auto q = numbers(2, 3, 1), whole = numbers(2, 3, 2), a = numbers(4, 3, 3), b = numbers(2, 4, 4);
    const std::string name = GENERATE(as<std::string>(), "h.q_proj.weight", "h.q_proj.base_layer.weight",
                                      "h.q_proj.modules_to_save.weight");
    const Merge of(llama, {{"h.q_proj.weight", q}}, {{"task_type", "CAUSAL_LM"}},
                   {{"h.q_proj.lora_A.weight", a}, {"h.q_proj.lora_B.weight", b}, {name, whole}});
    CHECK(of.merge().merged.size() == 1);
    CHECK(of.size() == 1);
    CHECK(of.tensor("h.q_proj.weight").equal(whole + at::matmul(b, a) * 2));
}

TEST_CASE("a merge that cannot be written is no mistake of the user's and leaves no folder") {
    const Merge of(llama, {{"h.q_proj.weight", numbers(200, 300, 1)}}, {{"r", 2}, {"lora_alpha", 2}},
                   {{"h.q_proj.weight", numbers(200, 300, 2)}});
    const bool there = GENERATE(false, true);
    if (there) fs::create_directory(of.merged);
    struct rlimit old {};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small { 10'000, old.rlim_max };
    REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
    std::string message = "nothing";
    bool of_the_user = false;
    try {
        of.merge();
    } catch (const base::InputError& error) {
        of_the_user = true;
        message = error.what();
    } catch (const std::exception& error) {
        message = error.what();
    }
    REQUIRE(setrlimit(RLIMIT_FSIZE, &old) == 0);
    std::signal(SIGXFSZ, handler);
    CHECK_THAT(message, test::contains("cannot write " + of.merged));
    CHECK_FALSE(of_the_user);
    CHECK(fs::exists(of.merged) == there);
    CHECK((!there || fs::is_empty(of.merged)));
}

TEST_CASE("merge refuses by name what an adapter has besides products and tensors that were trained whole") {
    const auto refused = [](const Tensors& tensors) {
        const Merge of(llama, {{"h.q_proj.weight", numbers(2, 3, 1)}}, {{"r", 2}, {"lora_alpha", 2}},
                       tensors);
        std::string message = "nothing";
        try {
            of.merge();
        } catch (const base::InputError& error) {
            message = error.what();
        }
        CHECK_FALSE(fs::exists(of.merged));
        return message;
    };
    CHECK_THAT(
        refused({{"h.embed_tokens.token_adapter.trainable_tokens_delta", numbers(2, 3, 1)}}),
        test::contains("h.embed_tokens.token_adapter.trainable_tokens_delta': expected lora_A and lora_B"));
    CHECK_THAT(refused({{"h.q_proj.lora_magnitude_vector", numbers(2, 1, 1)}}),
               test::contains("h.q_proj.lora_magnitude_vector': expected lora_A and lora_B"));
    CHECK_THAT(refused({{"h.q_proj.lora_A.weight", numbers(2, 3, 1)}}),
               test::contains("has h.q_proj.lora_A.weight without h.q_proj.lora_B.weight"));
    CHECK_THAT(refused({{"h.q_proj.lora_B.weight", numbers(2, 2, 1)}}),
               test::contains("has h.q_proj.lora_B.weight without h.q_proj.lora_A.weight"));
}

TEST_CASE("merge takes a base of several files as its index says, or refuses it") {
    const auto q = numbers(2, 3, 1), v = numbers(2, 3, 2), whole = numbers(2, 3, 3);
    const Merge of(llama, {{"h.q_proj.weight", q}}, {{"task_type", "CAUSAL_LM"}},
                   {{"h.q_proj.weight", whole}});
    const auto first = of.model_folder + "/model-00001-of-00002.safetensors",
               second = of.model_folder + "/model-00002-of-00002.safetensors",
               index = of.model_folder + "/model.safetensors.index.json";
    const auto write = [&](const Tensors& in_first, const Tensors& in_second) {
        REQUIRE_FALSE(model::write_safetensors(first, in_first, {{"format", "pt"}}));
        REQUIRE_FALSE(model::write_safetensors(second, in_second, {{"format", "pt"}}));
    };
    fs::remove(of.model_folder + "/model.safetensors");
    std::ofstream(index) << json{{"weight_map",
                                  {{"h.q_proj.weight", "model-00001-of-00002.safetensors"},
                                   {"h.v_proj.weight", "model-00002-of-00002.safetensors"}}}}
                                .dump();
    const auto refused = [&](const std::string& told) {
        CHECK_THROWS_AS(of.merge(), base::InputError);
        CHECK_THROWS_WITH(of.merge(), test::contains(told));
        CHECK_FALSE(fs::exists(of.merged));
    };
    write({{"h.q_proj.weight", q}}, {{"h.k_proj.weight", v}});
    refused(second + ": has no tensor 'h.v_proj.weight', which " + index + " says is there");
    write({{"h.q_proj.weight", q}, {"h.v_proj.weight", v}}, {{"h.v_proj.weight", q}});
    refused(second + ": has the tensor 'h.v_proj.weight', and so has " + first +
            "; expected it in one of the files that " + index + " names");
    write({{"h.q_proj.weight", q}}, {{"h.v_proj.weight", v}});
    of.merge();
    CHECK(of.size() == 2);
    CHECK(of.tensor("h.q_proj.weight").equal(whole));
    CHECK(of.tensor("h.v_proj.weight").equal(v));
}

TEST_CASE("the rows of a table of tokens are no labels") {
    const json labels{{"0", "bad"}, {"1", "good"}};
    const std::string table = "bert.embeddings.word_embeddings.weight";
    const bool has_classifier = GENERATE(true, false);
    Tensors base{{table, numbers(5, 4, 1)}};
    json config{
        {"architectures", {"BertForSequenceClassification"}}, {"model_type", "bert"}, {"vocab_size", 5}};
    if (has_classifier) {
        base.push_back({"classifier.weight", numbers(2, 4, 2)});
        config["id2label"] = labels;
    }
    const Merge of(config, base,
                   {{"task_type", "SEQ_CLS"}, {"modules_to_save", {"word_embeddings", "dense"}}},
                   {{table, numbers(6, 4, 3)}});
    of.merge();
    CHECK(of.config()["vocab_size"] == 6);
    CHECK(of.config().value("id2label", json()) == (has_classifier ? labels : json()));
}

TEST_CASE("the labels of a merged classifier are as many as its last layer has outputs") {
    const std::string classifier = GENERATE(as<std::string>(), "classifier", "classifier.out_proj", "score");
    const Merge of({{"architectures", {"DistilBertModel"}}, {"model_type", "distilbert"}},
                   {{"layer.q_lin.weight", numbers(4, 4, 1)}},
                   {{"task_type", "SEQ_CLS"}, {"modules_to_save", {"pre_classifier", classifier}}},
                   {{classifier + ".weight", numbers(3, 4, 2)},
                    {"distilbert.layer.q_lin.lora_A.weight", numbers(4, 4, 3)},
                    {"distilbert.layer.q_lin.lora_B.weight", numbers(4, 4, 4)},
                    {"pre_classifier.weight", numbers(4, 4, 5)},
                    {"z_dense.weight", numbers(4, 4, 6)}});
    of.merge();
    CHECK(of.config()["architectures"][0] == "DistilBertForSequenceClassification");
    CHECK(of.config()["id2label"] == json({{"0", "LABEL_0"}, {"1", "LABEL_1"}, {"2", "LABEL_2"}}));
    CHECK(of.tensor("pre_classifier.weight").equal(numbers(4, 4, 5)));
    CHECK(of.tensor("distilbert.layer.q_lin.weight").size(0) == 4);
}

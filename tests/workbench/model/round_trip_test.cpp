// A model that we save is the model that transformers saved.
// To add a case: a model and what its file should hold.
#include "run_model.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include <nlohmann/json.hpp>

#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/safetensors_file.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

nlohmann::json read_json(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
}

std::set<std::string> names_of(const model::SafetensorsFile& file) {
    std::set<std::string> names;
    for (const auto& tensor : file.tensors()) names.insert(tensor.name);
    return names;
}

// Every tensor of ours is in theirs, byte for byte. `left_out`: beginnings of names that the task has no
// parameters for.
void compare_files(const std::string& ours_folder, const std::string& theirs_folder,
                   const std::vector<std::string>& left_out) {
    const auto ours = model::SafetensorsFile::open(ours_folder + "/model.safetensors");
    const auto theirs = model::SafetensorsFile::open(theirs_folder + "/model.safetensors");
    REQUIRE(ours.file);
    REQUIRE(theirs.file);
    auto expected = names_of(*theirs.file);
    for (const auto& beginning : left_out)
        std::erase_if(expected, [&](const std::string& name) { return name.starts_with(beginning); });
    CHECK(names_of(*ours.file) == expected);
    CHECK(ours.file->metadata() == theirs.file->metadata());
    for (const auto& tensor : ours.file->tensors()) {
        const auto* other = theirs.file->find(tensor.name);
        INFO(tensor.name);
        REQUIRE(other != nullptr);
        CHECK(tensor.type->name == other->type->name);
        CHECK(tensor.shape == other->shape);
        REQUIRE(tensor.bytes == other->bytes);
        CHECK(std::memcmp(tensor.data, other->data, tensor.bytes) == 0);
    }
}

std::string loaded_and_saved(const std::string& from, const std::vector<std::string>& overrides) {
    test::Model made(test::configured("naive", Layout::padded, overrides));
    REQUIRE(model::load_weights(from, made.config, made.parameters).problems.empty());
    const auto folder = test::temporary_dir("saved").string();
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    return folder;
}

std::string bert_loaded_and_saved(const std::vector<std::string>& task) {
    auto overrides = test::tiny_bert();
    overrides.insert(overrides.end(), task.begin(), task.end());
    return loaded_and_saved(test::tiny_folder(), overrides);
}

// `left_out`: what transformers takes for granted, or says of itself.
void compare_configs(const std::string& ours_folder, const std::string& theirs_folder,
                     const std::set<std::string>& left_out) {
    const auto ours = read_json(ours_folder + "/config.json");
    const auto theirs = read_json(theirs_folder + "/config.json");
    for (const auto& [key, value] : theirs.items()) {
        if (left_out.contains(key)) continue;
        INFO(key);
        REQUIRE(ours.contains(key));
        CHECK(ours[key] == value);
    }
}

}  // namespace

TEST_CASE("a model of transformers that was loaded and saved holds the same tensors under the same names") {
    const auto masked_lm = bert_loaded_and_saved({"task.kind=masked_lm"});
    compare_files(masked_lm, test::tiny_folder(), {"bert.pooler.", "cls.seq_relationship."});
    const auto next_sentence = bert_loaded_and_saved({"task.kind=next_sentence"});
    compare_files(next_sentence, test::tiny_folder(), {"cls.predictions."});
    for (const auto& name : test::language_models()) {
        INFO(name);
        const auto saved = loaded_and_saved(test::language_folder(name), test::language_model(name));
        compare_files(saved, test::language_folder(name), {});
    }
}

TEST_CASE("a saved config.json says what transformers' own says") {
    const std::set<std::string> bert{"architectures",       "classifier_dropout",      "dtype",
                                     "initializer_range",   "position_embedding_type", "use_cache",
                                     "transformers_version"};
    compare_configs(bert_loaded_and_saved({"task.kind=masked_lm"}), test::tiny_folder(), bert);
    // Tokens are the tokenizer's; summaries are heads of other tasks; dropout was 0 in the fixtures too.
    const std::set<std::string> others{"dtype",
                                       "initializer_range",
                                       "initializer_factor",
                                       "use_cache",
                                       "transformers_version",
                                       "bos_token_id",
                                       "eos_token_id",
                                       "pad_token_id",
                                       "pretraining_tp",
                                       "reorder_and_upcast_attn",
                                       "scale_attn_by_inverse_layer_idx",
                                       "scale_attn_weights",
                                       "summary_activation",
                                       "summary_first_dropout",
                                       "summary_proj_to_labels",
                                       "summary_type",
                                       "summary_use_proj",
                                       "classifier_dropout",
                                       "dense_act_fn",
                                       "is_gated_act"};
    for (const auto& name : test::language_models()) {
        INFO(name);
        const auto saved = loaded_and_saved(test::language_folder(name), test::language_model(name));
        compare_configs(saved, test::language_folder(name), others);
    }
}

TEST_CASE("a saved config.json names the class of transformers that has the task's heads") {
    const auto architecture = [](const std::vector<std::string>& task) {
        return read_json(bert_loaded_and_saved(task) + "/config.json")["architectures"].dump();
    };
    CHECK(architecture({"task.kind=masked_lm"}) == R"(["BertForMaskedLM"])");
    CHECK(architecture({"task.kind=next_sentence"}) == R"(["BertForNextSentencePrediction"])");
    CHECK(architecture({"task.kind=classification", "task.labels=[\"a\", \"b\"]"}) ==
          R"(["BertForSequenceClassification"])");
    CHECK(architecture({"task.kind=token_classification", "task.labels=[\"a\", \"b\"]"}) ==
          R"(["BertForTokenClassification"])");
}

TEST_CASE("an output projection of its own is saved under transformers' name") {
    auto overrides = test::tiny_bert();
    overrides.insert(overrides.end(), {"task.kind=masked_lm", "model.tie_embeddings=false"});
    test::Model made(test::configured("naive", Layout::padded, overrides));
    const auto folder = test::temporary_dir("untied").string();
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    const auto file = model::SafetensorsFile::open(folder + "/model.safetensors").file;
    REQUIRE(file);
    CHECK(file->find("cls.predictions.decoder.weight") != nullptr);
    CHECK(file->find("cls.predictions.bias") != nullptr);
    CHECK(read_json(folder + "/config.json")["tie_word_embeddings"] == false);
}

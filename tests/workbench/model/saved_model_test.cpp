// Models that we save come back as they were, and transformers computes what they compute.
//
// With SWITCHYARD_SAVED_MODELS=FOLDER in the environment they stay there for `make_transformers.py
// --check-saved FOLDER`, each with the logits that we computed.
// To add a shape: a line in saved_shapes().
#include "run_model.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include <nlohmann/json.hpp>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>

#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/unused_tensors.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

using Shape = std::vector<std::string>;

const std::map<std::string, Shape>& saved_shapes() {
    static const std::map<std::string, Shape> all{
        {"gpt2", {"model.type=gpt"}},
        {"gpt2_untied", {"model.type=gpt", "model.tie_embeddings=false", "model.activation=gelu_erf"}},
        {"llama",
         {"model.type=gpt", "model.positions=rotary", "model.norm=rms_norm", "model.activation=swiglu",
          "model.bias=false", "model.kv_heads=2", "model.tie_embeddings=false"}},
        {"llama_tied",
         {"model.type=gpt", "model.positions=rotary", "model.norm=rms_norm", "model.activation=geglu_tanh",
          "model.bias=false", "model.rotary_theta=200.0", "model.head_dim=12"}},
        {"t5", {"model.type=t5", "model.head_dim=12"}},
        {"t5_gelu", {"model.type=t5", "model.activation=gelu_erf", "model.decoder_layers=1"}},
        {"t5_gated", {"model.type=t5", "model.activation=geglu_tanh", "model.tie_embeddings=false"}},
        {"t5_swiglu", {"model.type=t5", "model.activation=swiglu"}}};
    return all;
}

Shape sized(const Shape& shape) {
    Shape overrides{"model.layers=2",      "model.hidden_size=32",   "model.heads=4",
                    "model.vocab_size=60", "model.max_positions=24", "model.intermediate_size=48",
                    "batch.size=3",        "batch.max_length=24"};
    overrides.insert(overrides.end(), shape.begin(), shape.end());
    return overrides;
}

std::filesystem::path folder_for(const std::string& name) {
    const char* kept = std::getenv("SWITCHYARD_SAVED_MODELS");
    return kept != nullptr ? std::filesystem::path(kept) / name : test::temporary_dir("saved") / name;
}

// Large enough for every part to matter.
void strengthen(test::Model& made) {
    const at::NoGradGuard no_grad;
    for (const auto& parameter : made.parameters.all()) {
        if (parameter.value.dim() == 2) parameter.value.mul_(0.2 / parameter.value.std().item<double>());
    }
}

void add_expected(test::Model& made, const std::string& folder) {
    const bool t5 = made.config.model.type == config::ModelType::t5;
    const auto fixture = test::load_fixture(t5 ? "transformers_t5" : "transformers_gpt2").at(0);
    std::vector<model::NamedTensor> tensors{{"logits", test::run(made, fixture).logits}};
    for (const char* name : {"ids", "lengths", "target_ids", "target_lengths"}) {
        if (fixture[name].defined()) tensors.push_back({name, fixture[name]});
    }
    REQUIRE_FALSE(model::write_safetensors(folder + "/expected.safetensors", tensors, {}));
}

void compare_after_loading(const std::string& folder, const test::Model& made, Shape overrides) {
    overrides.emplace_back("run.seed=2");
    test::Model other(test::configured("naive", Layout::padded, overrides));
    const auto theirs = model::read_huggingface_config(folder + "/config.json");
    REQUIRE(theirs.error == "");
    CHECK(model::differences(other.config.model, theirs.model) == std::vector<std::string>{});
    const auto loaded = model::load_weights(folder, other.config, other.parameters);
    CHECK(loaded.problems == std::vector<std::string>{});
    CHECK(loaded.fresh.empty());
    CHECK(loaded.unused.empty());
    for (const auto& parameter : made.parameters.all()) {
        INFO(parameter.name);
        CHECK(other.parameters.find(parameter.name)->value.equal(parameter.value));
    }
}

// The weights of a saved model in two files with an index, as transformers writes large ones.
void divide(const std::string& folder, const std::string& missing = {}) {
    const auto whole = model::SafetensorsFile::open(folder + "/model.safetensors").file;
    std::vector<std::vector<model::NamedTensor>> parts(2);
    nlohmann::json index{{"metadata", {{"total_size", 0}}}};
    std::uint64_t bytes = 0;
    for (const auto& stored : whole->tensors()) {
        bytes += stored.bytes;
        const std::size_t part = index["weight_map"].size() % 2;
        index["weight_map"][stored.name] = "model-0000" + std::to_string(part + 1) + "-of-00002.safetensors";
        if (stored.name != missing)
            parts[part].push_back({stored.name, model::view_stored(whole, stored).clone()});
    }
    for (std::size_t i = 0; i < 2; ++i) {
        const auto path = folder + "/model-0000" + std::to_string(i + 1) + "-of-00002.safetensors";
        REQUIRE_FALSE(model::write_safetensors(path, parts[i], {}));
    }
    index["metadata"]["total_size"] = bytes;
    std::ofstream(folder + "/model.safetensors.index.json") << index.dump();
    std::filesystem::remove(folder + "/model.safetensors");
}

}  // namespace

TEST_CASE("weights in several files come as those in one") {
    const auto shape = sized({"model.type=gpt"});
    test::Model made(test::configured("naive", Layout::padded, shape));
    strengthen(made);
    const auto folder = test::temporary_dir("several").string();
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    divide(folder);
    compare_after_loading(folder, made, shape);
    const auto index = folder + "/model.safetensors.index.json";
    CHECK(model::load_weights(index, made.config, made.parameters).problems.empty());
    const auto problem = [&](const std::string& json) {
        std::ofstream(index) << json;
        const auto loaded = model::load_weights(folder, made.config, made.parameters);
        REQUIRE(loaded.problems.size() == 1);
        return loaded.problems[0];
    };
    CHECK(problem("{}") == index + ": expected \"weight_map\" with the file of each tensor");
    CHECK_THAT(problem(R"({"weight_map": {"a": "../b.safetensors"}})"),
               test::contains(index + ": weight_map: a: expected the name of a file beside it, got \"../b"));
    CHECK(problem(R"({"weight_map": {"a": "b.safetensors"}})") ==
          folder + "/b.safetensors: is not there; " + index + " names it");
    CHECK(problem("[]") == index + ":1: error: expected a JSON object, got a list");
}

TEST_CASE("a tensor that the index names and its file does not have") {
    test::Model made(test::configured("naive", Layout::padded, sized({"model.type=gpt"})));
    const auto folder = test::temporary_dir("lacking").string();
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    divide(folder, "transformer.ln_f.bias");
    const auto loaded = model::load_weights(folder, made.config, made.parameters);
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(loaded.problems[0], test::contains("has no tensor 'transformer.ln_f.bias', which " + folder +
                                                  "/model.safetensors.index.json says is there"));
}

TEST_CASE("an index that lies about the size of its tensors") {
    test::Model made(test::configured("naive", Layout::padded, sized({"model.type=gpt"})));
    const auto folder = test::temporary_dir("sizes").string();
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    divide(folder);
    const auto index = folder + "/model.safetensors.index.json";
    nlohmann::json said;
    std::ifstream(index) >> said;
    std::int64_t bytes = 0;
    for (const auto& parameter : made.parameters.all())
        bytes += static_cast<std::int64_t>(parameter.value.nbytes());
    REQUIRE(said["metadata"]["total_size"] == bytes);
    const auto loaded = [&](const nlohmann::json& size) {
        auto other = said;
        other["metadata"]["total_size"] = size;
        std::ofstream(index) << other.dump();
        return model::load_weights(folder, made.config, made.parameters);
    };
    const auto differ = [&](const std::string& size) {
        return index + ": metadata.total_size says " + size + " bytes, and the tensors that it names have " +
               std::to_string(bytes);
    };
    // As many as no format has of numbers, and fewer.
    for (const std::int64_t size : {std::int64_t{1}, std::int64_t{0}, -bytes, bytes / 8 - 1, 2 * bytes + 1}) {
        INFO(size);
        CHECK(
            loaded(size).problems ==
            std::vector<std::string>{differ(std::to_string(size)) +
                                     "; expected the index and the files of one model: get all of them anew, "
                                     "or take total_size out of the index"});
    }
    CHECK(loaded(1e300).problems.size() == 1);
    CHECK(
        loaded("large").problems ==
        std::vector<std::string>{index + ": metadata.total_size: expected a number of bytes, got \"large\""});
    // As files have it whose numbers were float64 or 16 bits when it was written, or with a table counted
    // twice: told, and no error.
    for (const std::int64_t size : {bytes / 2, bytes - 4, bytes + 32 * 60 * 4, 2 * bytes}) {
        INFO(size);
        const auto result = loaded(size);
        CHECK(result.problems.empty());
        CHECK(result.index_note == differ(std::to_string(size)));
    }
    for (const nlohmann::json& size :
         {nlohmann::json(bytes), nlohmann::json(static_cast<double>(bytes)), nlohmann::json()}) {
        const auto result = loaded(size);
        CHECK(result.problems.empty());
        CHECK(result.index_note == "");
    }
}

TEST_CASE("an index that says another file than the tensor's, and files that have a tensor twice") {
    test::Model made(test::configured("naive", Layout::padded, sized({"model.type=gpt"})));
    const auto folder = test::temporary_dir("elsewhere").string();
    const auto first = folder + "/model-00001-of-00002.safetensors",
               second = folder + "/model-00002-of-00002.safetensors",
               index = folder + "/model.safetensors.index.json";
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    divide(folder);
    nlohmann::json said;
    std::ifstream(index) >> said;
    const std::string tensor = "transformer.ln_f.bias";
    const bool in_first = said["weight_map"][tensor] == "model-00001-of-00002.safetensors";
    const auto its = in_first ? first : second, other = in_first ? second : first;

    auto wrong = said;
    wrong["weight_map"][tensor] = std::filesystem::path(other).filename();
    std::ofstream(index) << wrong.dump();
    auto loaded = model::load_weights(folder, made.config, made.parameters);
    REQUIRE(loaded.problems.size() == 1);
    CHECK(loaded.problems[0] ==
          other + ": has no tensor '" + tensor + "', which " + index + " says is there");

    std::ofstream(index) << said.dump();
    std::vector<model::NamedTensor> both;
    for (const auto& path : {its, other}) {
        const auto file = model::SafetensorsFile::open(path).file;
        for (const auto& stored : file->tensors()) {
            if (path == other || stored.name == tensor)
                both.push_back({stored.name, model::view_stored(file, stored).clone()});
        }
    }
    REQUIRE_FALSE(model::write_safetensors(other, both, {}));
    loaded = model::load_weights(folder, made.config, made.parameters);
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(loaded.problems[0], test::contains("'" + tensor + "' and '" + tensor + "' are both "));

    std::filesystem::resize_file(second, std::filesystem::file_size(second) - 8);
    loaded = model::load_weights(folder, made.config, made.parameters);
    REQUIRE(loaded.problems.size() == 1);
    CHECK_THAT(loaded.problems[0], test::contains(second + ": tensor '"));
    CHECK_THAT(loaded.problems[0], test::contains("it is truncated or its header is wrong"));
}

TEST_CASE("a bias that the model has no place for is refused, and other tensors are told") {
    const auto folder = test::temporary_dir("biased").string();
    const auto shape = sized(saved_shapes().at("llama"));
    test::Model made(test::configured("naive", Layout::padded, shape));
    REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
    const auto path = folder + "/model.safetensors";
    const auto whole = model::SafetensorsFile::open(path).file;
    std::vector<model::NamedTensor> saved;
    for (const auto& stored : whole->tensors())
        saved.push_back({stored.name, model::view_stored(whole, stored).clone()});
    const auto load = [&](const std::vector<std::string>& more, double value) {
        auto tensors = saved;
        for (const auto& name : more) tensors.push_back({name, at::full({32}, value)});
        REQUIRE_FALSE(model::write_safetensors(path, tensors, {}));
        return model::load_weights(folder, made.config, made.parameters);
    };
    const std::string bias = "model.layers.1.self_attn.q_proj.bias";
    const auto refused = load({bias}, 0.5);
    CHECK(refused.problems ==
          std::vector<std::string>{path + ": has the tensor '" + bias +
                                   "', but decoder.1.attention.q.weight of the configured model has no bias: "
                                   "it would compute other numbers than what was trained"});
    CHECK(load({"layers.0.mlp.up_proj.bias"}, 0.5).problems.size() == 1);
    CHECK(load({bias}, 0.0).problems.empty());
    const auto silent = load({"model.layers.0.self_attn.rotary_emb.inv_freq", "score.weight"}, 0.5);
    CHECK(silent.problems.empty());
    CHECK(silent.unused.size() == 2);
    CHECK(model::unused_line(silent.file, silent.unused) == "");
    const auto told = load({"a.0", "a.1", "a.2", "a.3", "a.4", "a.5", "score.weight"}, 0.5);
    CHECK(told.problems.empty());
    CHECK(model::unused_line("FILE", told.unused) ==
          "the model has no place for a.0, a.1, a.2, a.3, a.4 and 1 more of FILE");
}

TEST_CASE("saved models come back as they were") {
    for (const auto& [name, shape] : saved_shapes()) {
        INFO(name);
        test::Model made(test::configured("naive", Layout::padded, sized(shape)));
        strengthen(made);
        const auto folder = folder_for(name).string();
        REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
        CHECK(model::family_of(made.config) != model::Family::own);
        add_expected(made, folder);
        compare_after_loading(folder, made, sized(shape));
    }
}

TEST_CASE("config.json says what a head predicts, and how many of it: transformers make it by that") {
    struct Head {
        Shape task;
        std::string problem_type;
        nlohmann::json labels;
    };
    const std::vector<Head> heads{{{"task.kind=classification", "task.labels=[\"no\", \"yes\"]"},
                                   "single_label_classification",
                                   {{"0", "no"}, {"1", "yes"}}},
                                  {{"task.kind=multi_label", "task.labels=[\"a\", \"b\", \"c\"]"},
                                   "multi_label_classification",
                                   {{"0", "a"}, {"1", "b"}, {"2", "c"}}},
                                  {{"task.kind=regression"}, "regression", {{"0", "LABEL_0"}}},
                                  {{"task.kind=regression", "task.labels=[\"logp\", \"weight\"]"},
                                   "regression",
                                   {{"0", "logp"}, {"1", "weight"}}}};
    for (const auto& head : heads) {
        auto overrides = test::tiny_bert();
        overrides.insert(overrides.end(), head.task.begin(), head.task.end());
        test::Model made(test::configured("naive", Layout::padded, overrides));
        const auto folder = test::temporary_dir("head").string();
        REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
        std::ifstream file(folder + "/config.json");
        const auto saved = nlohmann::json::parse(file);
        CHECK(saved["architectures"][0] == "BertForSequenceClassification");
        CHECK(saved["problem_type"] == head.problem_type);
        CHECK(saved["id2label"] == head.labels);
        CHECK(made.parameters.find("classifier.weight")->value.size(0) ==
              static_cast<std::int64_t>(head.labels.size()));
    }
}

TEST_CASE("a model that transformers does not have is saved under our names, and comes back") {
    const std::vector<Shape> own{
        {"model.type=gpt", "model.positions=alibi", "model.window=7", "model.soft_cap=3.5"},
        {"model.type=gpt", "model.positions=rotary"},
        {"model.type=t5", "model.activation=geglu_erf", "model.kv_heads=2"},
        {"model.type=bert", "model.norm_position=pre", "task.project_all=true"}};
    for (const auto& shape : own) {
        INFO(shape[0] << " " << shape[1]);
        test::Model made(test::configured("naive", Layout::padded, sized(shape)));
        const auto folder = test::temporary_dir("own").string();
        REQUIRE_FALSE(model::save_weights(folder, made.config, made.parameters));
        std::ifstream file(folder + "/config.json");
        const auto saved = nlohmann::json::parse(file);
        CHECK(saved["model_type"] == "switchyard");
        CHECK(saved["model"]["max_positions"] == 24);
        compare_after_loading(folder, made, sized(shape));
    }
}

TEST_CASE("pretrained weights may be given a window, which their family does not have") {
    auto overrides = test::tiny_bert();
    overrides.insert(overrides.end(), {"task.kind=masked_lm", "model.window=4"});
    test::Model made(test::configured("naive", Layout::padded, overrides));
    const auto theirs = model::read_huggingface_config(test::tiny_folder() + "/config.json");
    CHECK(model::differences(made.config.model, theirs.model) == std::vector<std::string>{});
    const auto loaded = model::load_weights(test::tiny_folder(), made.config, made.parameters);
    CHECK(loaded.problems == std::vector<std::string>{});
}

// Adapters of low rank against PEFT, from the folders that it saved, and back; and against the weights that
// they are merged into.
// To add a model: a line in tests/fixtures/make_peft.py, and one here.
#include "run_model.h"

#include <filesystem>
#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/workbench/model/low_rank.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/adapter_files.h"
#include "core/workbench/model/weights/load_weights.h"
#include "core/workbench/model/weights/tensors.h"
#include "core/workbench/model/weights/their_form.h"

#include <switchyard_test.h>

using namespace switchyard;
using test::contains;

namespace {

namespace fs = std::filesystem;

struct Case {
    std::string name;
    std::string targets;
    std::vector<std::string> more;
};

const std::vector<Case> cases{
    {"roberta_classification",
     R"(["*.attention.q", "*.attention.v"])",
     {"task.kind=classification", R"(task.labels=["a", "b", "c"])"}},
    {"gpt2",
     R"(["*.attention.q", "*.attention.k", "*.attention.v", "*.feed_forward.in"])",
     {"model.type=gpt"}},
    {"llama", R"(["*.attention.q", "*.attention.v", "*.feed_forward.out"])", {"model.type=gpt"}},
    {"t5", R"(["*.attention.q", "*.cross.q", "*.feed_forward.out"])", {"model.type=t5"}}};

std::string fixture_folder(const std::string& name) {
    return (test::source_dir() / "tests/fixtures" / name).string();
}

std::unique_ptr<test::Model> base_model(const Case& of, const std::string& backend, Layout layout,
                                        std::vector<std::string> more = {}) {
    std::vector<std::string> overrides{"model.from=" + fixture_folder("transformers_" + of.name),
                                       "batch.size=3", "batch.max_length=20", "lora.targets=" + of.targets,
                                       R"(lora.trained=["classifier.*", "pooler.*"])"};
    overrides.insert(overrides.end(), of.more.begin(), of.more.end());
    overrides.insert(overrides.end(), more.begin(), more.end());
    auto made = std::make_unique<test::Model>(test::configured(backend, layout, overrides));
    const auto loaded =
        model::load_weights(fixture_folder("transformers_" + of.name), made->config, made->parameters);
    REQUIRE(loaded.problems == std::vector<std::string>{});
    return made;
}

std::unique_ptr<test::Model> adapted(const Case& of, const std::string& backend, Layout layout) {
    auto made = base_model(of, backend, layout, {"lora.rank=3", "lora.alpha=6"});
    CHECK(model::load_adapter(fixture_folder("peft_" + of.name), made->config, made->parameters) ==
          std::vector<std::string>{});
    return made;
}

at::Tensor gradient(const test::Model& made, const std::string& name) {
    const auto* const found = made.parameters.find(name);
    REQUIRE(found != nullptr);
    REQUIRE(found->value.grad().defined());
    return found->value.grad();
}

std::shared_ptr<const model::SafetensorsFile> adapter_file(const std::string& folder) {
    const auto opened = model::SafetensorsFile::open(folder + "/adapter_model.safetensors");
    REQUIRE(opened.error == "");
    return opened.file;
}

std::string layer_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

// In PEFT's form: layers of ours that are one of theirs share A, so its gradient is the sum of theirs.
std::map<std::string, at::Tensor> their_gradients(const test::Model& made) {
    std::map<std::string, at::Tensor> all;
    const auto plain = model::merged(made.config.lora, made.parameters);
    for (const auto& theirs : model::their_tensors(model::family_of(made.config), plain)) {
        const auto base = "base_model.model." + layer_of(theirs.name);
        std::vector<at::Tensor> rows;
        at::Tensor a;
        for (const auto& part : theirs.parts) {
            const auto layer = layer_of(part.ours);
            if (made.parameters.find(model::low_rank_a(layer)) == nullptr) continue;
            const auto its = gradient(made, model::low_rank_a(layer));
            a = a.defined() ? a + its : its;
            rows.push_back(model::rows_of(part, gradient(made, model::low_rank_b(layer))));
        }
        if (!rows.empty()) {
            all[base + ".lora_A.weight"] = a;
            all[base + ".lora_B.weight"] = at::cat(rows);
        }
        const auto& first = theirs.parts.front().ours;
        if (first.starts_with("classifier") || first.starts_with("pooler"))
            all["base_model.model." + theirs.name] = gradient(made, first);
    }
    return all;
}

}  // namespace

TEST_CASE("adapters of PEFT compute what it computes, gradients included") {
    const std::string backend = GENERATE("naive", "torch");
    const auto layout = GENERATE(Layout::padded, Layout::packed);
    for (const auto& of : cases) {
        INFO(of.name << ", " << backend << ", " << name(layout));
        const auto fixture = test::load_fixture("peft_" + of.name).at(0);
        const auto made = adapted(of, backend, layout);
        const auto got = test::run(*made, fixture);
        const auto logits = fixture["logits"];
        CHECK(test::difference(got.logits,
                               logits.dim() == 3 ? test::real_outputs(logits, fixture) : logits) == "");
        CHECK(test::difference(got.loss, fixture["loss"]) == "");
        const auto gradients = their_gradients(*made);
        const auto file = adapter_file(fixture_folder("peft_" + of.name));
        CHECK(gradients.size() == file->tensors().size());
        for (const auto& tensor : file->tensors()) {
            INFO(tensor.name);
            REQUIRE(gradients.contains(tensor.name));
            CHECK(test::gradient_difference(gradients.at(tensor.name), fixture["grad." + tensor.name]) == "");
        }
    }
}

TEST_CASE("an adapter's gradients are those of the merged weight, projected") {
    for (const auto& of : cases) {
        INFO(of.name);
        const auto fixture = test::load_fixture("peft_" + of.name).at(0);
        const auto made = adapted(of, "naive", Layout::padded);
        const auto got = test::run(*made, fixture);
        const auto whole = base_model(of, "naive", Layout::padded);
        const auto merged = model::merged(made->config.lora, made->parameters);
        for (const auto& parameter : merged.all())
            whole->parameters.find(parameter.name)->value.detach().copy_(parameter.value);
        const auto right = test::run(*whole, fixture);
        CHECK(test::difference(got.logits, right.logits) == "");
        std::size_t layers = 0;
        for (const auto& parameter : made->parameters.all()) {
            if (!parameter.name.ends_with(".lora_a.weight")) continue;
            const auto layer = parameter.name.substr(0, parameter.name.find(".lora_a"));
            INFO(layer);
            const auto weight = gradient(*whole, layer + ".weight");
            const auto a = parameter.value.detach();
            const auto b = made->parameters.find(model::low_rank_b(layer))->value.detach();
            CHECK(test::gradient_difference(gradient(*made, model::low_rank_b(layer)),
                                            at::matmul(weight, a.t()) * 2.0) == "");
            CHECK(test::gradient_difference(gradient(*made, model::low_rank_a(layer)),
                                            at::matmul(b.t(), weight) * 2.0) == "");
            ++layers;
        }
        CHECK(layers > 3);
    }
}

TEST_CASE("what is saved is what PEFT saved, and is read again") {
    for (const auto& of : cases) {
        INFO(of.name);
        const auto made = adapted(of, "naive", Layout::padded);
        const auto folder = test::temporary_dir("adapter").string();
        std::vector<std::string> trained;
        for (const auto& parameter : made->parameters.all())
            if (parameter.name.starts_with("classifier") || parameter.name.starts_with("pooler"))
                trained.push_back(parameter.name);
        REQUIRE_FALSE(model::save_adapter(folder, made->config, made->parameters, trained, "somewhere"));
        const auto config = model::read_adapter_config(folder);
        CHECK(config.base == "somewhere");
        CHECK(config.rank == 3);
        CHECK(config.alpha == 6.0);
        CHECK(config.transposed == (of.name == "gpt2"));
        const auto saved = adapter_file(folder), right = adapter_file(fixture_folder("peft_" + of.name));
        CHECK(saved->tensors().size() == right->tensors().size());
        for (const auto& tensor : right->tensors()) {
            INFO(tensor.name);
            const auto* const found = saved->find(tensor.name);
            REQUIRE(found != nullptr);
            if (tensor.name.find("c_attn") != std::string::npos) {  // three adapters in one
                const auto module = tensor.name.substr(17, tensor.name.find(".lora") - 17);
                CHECK(config.ranks.at(module) == 9);
                CHECK(config.scale(module, 9) == 2.0);
                continue;
            }
            CHECK(model::view_stored(saved, *found).equal(model::view_stored(right, tensor)));
        }
        const auto again = base_model(of, "naive", Layout::padded, {"lora.rank=3", "lora.alpha=6"});
        REQUIRE(model::load_adapter(folder, again->config, again->parameters) == std::vector<std::string>{});
        for (const auto& parameter : made->parameters.all()) {
            INFO(parameter.name);
            CHECK(again->parameters.find(parameter.name)->value.equal(parameter.value));
        }
    }
}

TEST_CASE("an adapter that does not fit is refused, and nothing is changed") {
    const auto& of = cases.front();
    const auto problems = [&](const std::string& folder, const std::vector<std::string>& overrides) {
        const auto made = base_model(of, "naive", Layout::padded, overrides);
        const auto before = made->parameters.all().back().value.clone();
        const auto found = model::load_adapter(folder, made->config, made->parameters);
        CHECK(made->parameters.all().back().value.equal(before));
        std::string text;
        for (const auto& problem : found) text += problem + "\n";
        return text;
    };
    const auto folder = fixture_folder("peft_roberta_classification");
    CHECK_THAT(problems(folder, {"lora.rank=4"}),
               contains("query.lora_A.weight' has shape [3, 24]") &&
                   contains("expected floating-point numbers of shape [4, 24]"));
    CHECK_THAT(problems(folder, {"lora.rank=3", "lora.alpha=3"}),
               contains("alpha / rank of roberta.encoder.layer.0"));
    CHECK_THAT(problems(folder, {"lora.rank=3", "lora.alpha=6", "lora.targets=[\"*.attention.q\"]"}),
               contains("value.lora_A.weight', which is of no target of lora.targets"));
    CHECK_THAT(
        problems(folder, {"lora.rank=3", "lora.alpha=6", "lora.targets=[\"*.attention.*\"]"}),
        contains(
            "has no tensor 'base_model.model.roberta.encoder.layer.0.attention.self.key.lora_A.weight'"));
    CHECK_THAT(problems(fixture_folder("peft_gpt2"), {"lora.rank=3", "lora.alpha=6"}),
               contains("c_attn.lora_A.weight', which is of no target") &&
                   contains("query.lora_A.weight'; expected one of shape [3, 24]"));

    const auto refused = [](const nlohmann::json& changes) {
        const auto copy = test::temporary_dir("refused").string();
        std::ifstream in(fixture_folder("peft_t5") + "/adapter_config.json");
        auto json = nlohmann::json::parse(in);
        json.update(changes);
        std::ofstream(copy + "/adapter_config.json") << json.dump();
        try {
            (void)model::read_adapter_config(copy);
        } catch (const base::InputError& error) {
            return std::string(error.what());
        }
        return std::string("nothing");
    };
    CHECK_THAT(refused({{"peft_type", "IA3"}}), contains("peft_type is \"IA3\"; expected \"LORA\""));
    CHECK_THAT(refused({{"use_dora", true}}), contains("use_dora is true; expected false"));
    CHECK_THAT(refused({{"use_rslora", true}}), contains("use_rslora is true"));
    CHECK_THAT(refused({{"bias", "all"}}), contains("bias is \"all\"; expected \"none\""));
    CHECK_THAT(refused({{"r", 0}}), contains("r is 0; expected a whole number from 1"));
    CHECK_THAT(refused({{"rank_pattern", {{"q", "x"}}}}), contains("q is x; expected a whole number"));
    CHECK_THAT(
        refused({{"alpha_pattern", {{R"(block\.\d+\.q)", 3}}}}),
        contains(R"(alpha_pattern has the regular expression "block\.\d+\.q"; expected names of modules)"));
    CHECK(refused({{"r", 5}}) == "nothing");
    CHECK_THROWS_WITH(model::read_adapter_config("/nowhere"), contains("there is no such folder"));
}

TEST_CASE("targets that are no linear layer and parameters that are none are told with the nearest ones") {
    const auto problems = [](const std::vector<std::string>& overrides) {
        auto all = cases.front().more;
        all.insert(all.begin(), "model.from=" + fixture_folder("transformers_roberta_classification"));
        all.insert(all.end(), overrides.begin(), overrides.end());
        const auto config = test::configured("naive", Layout::padded, all);
        return model::low_rank_problems(config, {"encoder.0.attention.q", "encoder.0.feed_forward.in"},
                                        {"encoder.0.attention.q.weight", "classifier.weight"});
    };
    CHECK(problems({"lora.rank=0", "lora.targets=[\"x\"]"}).empty());
    CHECK(problems({"lora.rank=2", "lora.targets=[\"*.q\"]"}).empty());
    CHECK_THAT(problems({"lora.rank=2", "lora.targets=[\"encoder.0.atention.q\"]"}).at(0),
               contains("lora.targets") &&
                   contains("is the name of no linear layer of a stack; did you mean") &&
                   contains("\"encoder.0.attention.q\"?"));
    CHECK_THAT(problems({"lora.rank=2", "lora.targets=[\"*.q\"]", "lora.trained=[\"clasifier.*\"]"}).at(0),
               contains("lora.trained") && contains("did you mean \"classifier.*\"?"));
}

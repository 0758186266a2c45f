// Runs with adapters of low rank: what is trained and what is left, and `merge`. What an adapter computes:
// tests/workbench/model/low_rank_test.cpp.
#include "safetensors_text.h"
#include "tiny_job.h"

#include <cmath>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

SafetensorsText tensors(const std::string& file) { return SafetensorsText::of(bytes_of(file)); }

// A model, and a run that adapted it.
struct Adapted {
    Adapted() {
        job.trained("base", {"train.steps=2"});
        base = job.run_folder("base") + "/model";
        sets = {"lora.rank=2", "lora.alpha=4", "train.weights=" + base, "optimizer.lr=0.01"};
        job.trained("run", sets);
        run = job.run_folder("run");
    }

    TinyJob job;
    std::string base, run;
    Words sets;
};

std::vector<double> probabilities(const std::string& run, const Words& more = {}) {
    Words words{"predict", run, "the film is lovely", "a dull plot"};
    words.insert(words.end(), more.begin(), more.end());
    const auto json = run_json(words);
    std::vector<double> all;
    for (const auto& row : json["predictions"])
        for (const auto& value : row["probabilities"]) all.push_back(value.get<double>());
    return all;
}

// The adapter added to its model is what the run left as its model.
void check_merges(const std::string& run_folder, const std::string& merged, const std::string& counts) {
    const auto outcome = run({"merge", run_folder, merged});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK(outcome.out == merged + ": " + counts + " of the adapter's own\n");
    const auto right = tensors(run_folder + "/model/model.safetensors");
    const auto found = tensors(merged + "/model.safetensors");
    CHECK(found.header.size() == right.header.size());
    for (const auto& item : right.header.items()) {
        if (item.key() == "__metadata__") continue;
        INFO(item.key());
        const auto a = found.values(item.key()), b = right.values(item.key());
        REQUIRE(a.size() == b.size());
        for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(std::abs(a[i] - b[i]) < 1e-6);
    }
}

void check_close(const std::vector<double>& a, const std::vector<double>& b) {
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-5);
}

}  // namespace

TEST_CASE("adapters and the head are trained, all else stays, and the run's model has them merged") {
    const Adapted adapted;
    const auto before = tensors(adapted.base + "/model.safetensors");
    const auto after = tensors(adapted.run + "/model/model.safetensors");
    CHECK(after.header.size() == before.header.size());
    for (const auto& item : before.header.items()) {
        const std::string& name = item.key();
        if (name == "__metadata__") continue;
        INFO(name);
        const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
        const bool changed =
            has("query.weight") || has("value.weight") || has("pooler.") || has("classifier.");
        CHECK((after.values(name) != before.values(name)) == changed);
    }
    const auto config = json_of(adapted.run + "/adapter/adapter_config.json");
    CHECK(config["peft_type"] == "LORA");
    CHECK(config["r"] == 2);
    CHECK(config["lora_alpha"] == 4.0);
    CHECK(config["task_type"] == "SEQ_CLS");
    CHECK(config["base_model_name_or_path"] == adapted.base);
    CHECK(config["modules_to_save"] == nlohmann::json({"bert.pooler.dense", "classifier"}));
    CHECK(config["target_modules"].size() == 4);
    check_close(probabilities(adapted.run), probabilities(adapted.run + "@last"));
    const auto listed =
        run_json({"model", adapted.job.file("job.toml"), "--parameters", "--set", "lora.rank=2"});
    std::size_t trained = 0;
    for (const auto& parameter : listed["parameters"]) trained += parameter["frozen"] == false ? 1 : 0;
    CHECK_THAT(run({"model", adapted.job.file("job.toml"), "--set", "lora.rank=2"}).out,
               contains("times the forward, since what is frozen needs no gradient") &&
                   !contains("three times the forward"));
    CHECK(trained == 4 * 2 + 4);
}

TEST_CASE("a run answers whose settings name its adapters, which its model has no more") {
    const Adapted adapted;
    auto sets = with(adapted.sets, {"train.steps=1", "precision.backend=amp/bf16",
                                    R"(precision.options."amp/bf16".keep=["*.lora_b"])",
                                    R"(group=[{match=["*.lora_b.weight"],lr_factor=2.0}])"});
    adapted.job.trained("named", sets);
    CHECK(probabilities(adapted.job.run_folder("named")).size() == 4);
}

TEST_CASE("a run with adapters goes on from a checkpoint as if it had never stopped") {
    const Adapted adapted;
    auto sets = adapted.sets;
    sets.emplace_back("train.checkpoint_every=4");
    sets.emplace_back("train.ema=0.9");
    adapted.job.trained("whole", sets);
    adapted.job.trained("resumed", sets);
    const fs::path folder = adapted.job.run_folder("resumed");
    fs::remove_all(folder / "checkpoints/step-00000008");
    fs::remove_all(folder / "model");
    adapted.job.trained("resumed", sets, {"--resume"});
    require_same_end(adapted.job.run_folder("whole"), folder);
    CHECK(bytes_of(folder / "adapter/adapter_model.safetensors") ==
          bytes_of(fs::path(adapted.job.run_folder("whole")) / "adapter/adapter_model.safetensors"));
}

TEST_CASE("diagnose does not miss the gradients of what is not trained") {
    const Adapted adapted;
    Words words{"diagnose", adapted.job.file("job.toml")};
    for (const auto& set : adapted.sets) words.insert(words.end(), {"--set", set});
    const auto outcome = run(words);
    INFO(outcome.out << outcome.err);
    CHECK_THAT(outcome.out, contains("good  every parameter that is trained gets a gradient: 12 tensors"));
}

TEST_CASE("training begins with an adapter, and does not with one of another model") {
    const Adapted adapted;
    auto sets = adapted.sets;
    sets.insert(sets.end(), {"lora.from=" + adapted.run + "/adapter", "train.steps=1", "optimizer.lr=0"});
    adapted.job.trained("again", sets);
    check_close(probabilities(adapted.job.run_folder("again")), probabilities(adapted.run));

    const auto refused = [&](const Words& more, const Words& parts) {
        auto all = sets;
        all.insert(all.end(), more.begin(), more.end());
        auto words = adapted.job.train("never", all);
        check_refused(run(words), parts);
        CHECK_FALSE(fs::exists(fs::path(adapted.job.run_folder("never")) / "config.toml"));
    };
    refused({"lora.rank=3"},
            {"lora.from", "has shape [2, 32]", "expected floating-point numbers of shape [3, 32]"});
    refused({"lora.from=" + adapted.base}, {"lora.from", "has no adapter_config.json"});
    refused({"lora.targets=[\"*.atention.q\"]"},
            {"lora.targets", "is the name of no linear layer", "did you mean"});
    refused({"lora.trained=[\"clasifier.*\"]"}, {"lora.trained", "did you mean \"classifier.*\"?"});
    refused({"train.weights=\"\""}, {"lora.rank", "there are no weights to adapt"});
}

TEST_CASE("merge adds an adapter to its model") {
    const Adapted adapted;
    const auto merged = adapted.job.file("merged");
    check_merges(adapted.run, merged, "4 weights merged, 4 tensors");
    CHECK(json_of(merged + "/config.json")["architectures"][0] == "BertForSequenceClassification");
    CHECK(json_of(merged + "/config.json")["id2label"] ==
          json_of(adapted.run + "/model/config.json")["id2label"]);
    CHECK(bytes_of(merged + "/vocab.txt") == bytes_of(adapted.base + "/vocab.txt"));

    // What a model of another shape, or none, gets; nothing is left.
    adapted.job.trained("other", {"train.steps=1", "model.hidden_size=64"});
    const auto other = adapted.job.run_folder("other") + "/model", nothing = adapted.job.file("nothing");
    check_refused(run({"merge", adapted.run, nothing, "--base", other}),
                  {"it is an adapter of another model"});
    check_refused(run({"merge", adapted.run, nothing, "--base", "/nowhere"}),
                  {"\"/nowhere\", which is no folder here"});
    check_refused(run({"merge", adapted.base, nothing}), {"has no adapter_config.json"});
    CHECK_FALSE(fs::exists(nothing));
    check_refused(run({"merge", adapted.run, merged}), {"is there already and not empty"});
}

TEST_CASE("an adapter has what was trained whole, also where it is frozen now") {
    const Adapted adapted;
    const auto sets = with(adapted.sets, {R"(group=[{match=["classifier.*"],frozen=true}])"});
    const Words gone_on{"--resume", "--allow-change", "group"};
    adapted.job.trained("run", with(sets, {"train.steps=9"}), gone_on);
    check_merges(adapted.run, adapted.job.file("merged"), "4 weights merged, 4 tensors");

    adapted.job.trained("again", with(sets, {"train.steps=1", "lora.from=" + adapted.run + "/adapter"}));
    check_merges(adapted.job.run_folder("again"), adapted.job.file("merged_again"),
                 "4 weights merged, 4 tensors");

    // Where the model that it goes with is gone, what was frozen cannot be told.
    fs::rename(adapted.base, adapted.base + "_moved");
    const auto outcome = adapted.job.trained("run", with(sets, {"train.steps=10"}), gone_on);
    CHECK_THAT(outcome.err, contains("warning: " + adapted.run + "/adapter: may lack parameters") &&
                                contains(adapted.base));
    const auto config = json_of(adapted.run + "/adapter/adapter_config.json");
    CHECK(config["modules_to_save"] == nlohmann::json({"bert.pooler.dense"}));
}

TEST_CASE("a merged model answers as its run does, by the labels, the scale and the tokenizer of the run") {
    const TinyJob job;
    job.trained("base", {"train.steps=1", "task.kind=masked_lm", "task.labels=[]"});
    const Words adapts{"lora.rank=2", "train.weights=" + job.run_folder("base") + "/model",
                       "optimizer.lr=0.01"};
    Words as_trained{"--set", "runtime.threads=1", "--set", "precision.backend=torch/fp32"};
    for (const char* const slot :
         {"attention", "normalization", "activation", "linear", "loss", "data_loader"})
        as_trained.insert(as_trained.end(), {"--set", std::string(slot) + ".backend=torch"});
    const auto check_merged = [&](const Words& sets) {
        job.trained("run", with(sets, adapts));
        const auto of_run = job.run_folder("run"), merged = job.file("merged");
        const auto outcome = run({"merge", of_run, merged});
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);
        const auto config = json_of(merged + "/config.json"), right = json_of(of_run + "/model/config.json");
        for (const char* const key : {"architectures", "problem_type", "id2label", "label2id"})
            CHECK(config.at(key) == right.at(key));
        for (const char* const file : {"/vocab.txt", "/tokenizer_config.json"})
            CHECK(bytes_of(merged + file) == bytes_of(of_run + "/model" + file));
        const Words texts{"the Film is lovely", "a dull plot"};
        const auto expected = run_json(with({"predict", of_run}, texts))["predictions"].flatten();
        const auto found =
            run_json(with(with({"predict", merged}, texts), as_trained))["predictions"].flatten();
        REQUIRE(found.size() == expected.size());
        for (const auto& [key, value] : expected.items()) {
            INFO(key);
            if (value.is_number())
                CHECK(found.at(key).get<double>() == Approx(value.get<double>()).epsilon(1e-4).margin(1e-5));
            else
                CHECK(found.at(key) == value);
        }
    };
    SECTION("labels that do not exclude each other, of words whose case counts") {
        const auto many =
            job.write("many.tsv", "text\tkind\tharsh\nthe film is lovely\t1\t0\na dull plot\t0\t1\n");
        check_merged({"task.kind=multi_label", "task.labels=[kind,harsh]", "data.lower_case=false",
                      "data.train=[\"" + many + "\"]", "data.eval=[\"" + many + "\"]"});
    }
    SECTION("numbers, by the scale that they were learnt with") {
        const auto prices =
            job.write("prices.tsv", "text\tprice\nthe film is lovely\t1000\na dull plot\t40\n");
        check_merged({"task.kind=regression", "task.labels=[]", "data.label_column=price",
                      "data.train=[\"" + prices + "\"]", "data.eval=[\"" + prices + "\"]"});
    }
}

TEST_CASE("a moving average of the weights is what is evaluated and left, and training is what it was") {
    const TinyJob job;
    const Words sets{"train.eval_every=2", "train.checkpoint_every=4"};
    auto averaged = sets;
    averaged.emplace_back("train.ema=0.8");
    job.trained("plain", sets);
    job.trained("ema", averaged);
    const fs::path plain = job.run_folder("plain"), ema = job.run_folder("ema");
    const auto last = fs::path("checkpoints/step-00000008");
    CHECK(bytes_of(plain / last / "model.safetensors") == bytes_of(ema / last / "model.safetensors"));
    CHECK(step_losses(plain) == step_losses(ema));
    CHECK(eval_losses(plain) != eval_losses(ema));
    CHECK_FALSE(fs::exists(plain / last / "average.safetensors"));
    CHECK(probabilities(ema.string()) == probabilities(ema.string() + "@last"));
    CHECK(probabilities(ema.string()) != probabilities(plain.string()));
    job.trained("resumed", averaged);
    const fs::path resumed = job.run_folder("resumed");
    fs::remove_all(resumed / last);
    fs::remove_all(resumed / "model");
    job.trained("resumed", averaged, {"--resume"});
    require_same_end(ema, resumed);
    CHECK(bytes_of(resumed / last / "average.safetensors") == bytes_of(ema / last / "average.safetensors"));
}

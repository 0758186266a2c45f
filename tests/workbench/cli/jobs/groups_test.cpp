// Runs in which some parameters are frozen or learn at a rate of their own: what the weights are afterwards.
#include "safetensors_text.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

SafetensorsText weights(const TinyJob& job, const std::string& run) {
    return SafetensorsText::of(bytes_of(fs::path(job.run_folder(run)) / "model/model.safetensors"));
}

std::string with_group(const TinyJob& job, const std::string& group) {
    return bytes_of(job.file("job.toml")) + "\n[[group]]\n" + group;
}

}  // namespace

TEST_CASE("frozen parameters stay as they were, bit for bit, and all others are trained") {
    const Words sets =
        GENERATE(Words{}, Words{"train.recompute=layers"}, Words{"precision.backend=amp/bf16"},
                 Words{"attention.backend=naive", "normalization.backend=naive", "activation.backend=naive",
                       "linear.backend=naive", "loss.backend=naive"},
                 Words{"normalization.backend=fused", "activation.backend=fused", "loss.backend=fused",
                       "optimizer.backend=fused"});
    INFO(Catch::StringMaker<Words>::convert(sets));
    const TinyJob job;
    job.trained("base", {"train.steps=1"});
    const auto frozen = job.write("frozen.toml", with_group(job,
                                                            "match = [\"embeddings.*\", \"encoder.0.*\"]\n"
                                                            "frozen = true\n"));
    Words words{"train", frozen,
                "--run", job.run_folder("run"),
                "--set", "train.weights=" + job.run_folder("base") + "/model"};
    for (const auto& set : sets) words.insert(words.end(), {"--set", set});
    const auto outcome = run(words);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto before = weights(job, "base"), after = weights(job, "run");
    for (const auto& [name, described] : before.header.items()) {
        if (name == "__metadata__") continue;
        INFO(name);
        const bool kept =
            name.find("embeddings.") != std::string::npos || name.find("layer.0.") != std::string::npos;
        CHECK((after.values(name) == before.values(name)) == kept);
    }
    const auto listed = run_json({"model", frozen, "--parameters"})["parameters"];
    CHECK(listed[0]["name"] == "embeddings.word");
    CHECK(listed[0]["frozen"] == true);
}

TEST_CASE("parameters are frozen and unfrozen in a run that is gone on with, if that is allowed") {
    const std::string policy = GENERATE("torch/fp32", "amp/bf16_pure");
    INFO(policy);
    const TinyJob job;
    const Words sets{"precision.backend=" + policy, "train.checkpoint_every=1", "train.keep_last=100"};
    const auto gone_on = [&](const std::string& file, const std::string& steps, bool allowed) {
        Words words{
            "train", file, "--run", job.run_folder("run"), "--resume", "--set", "train.steps=" + steps};
        for (const auto& set : sets) words.insert(words.end(), {"--set", set});
        if (allowed) words.insert(words.end(), {"--allow-change", "group"});
        return run(words);
    };
    const auto values = [&](const std::string& step, const std::string& name) {
        const auto folder = fs::path(job.run_folder("run")) / "checkpoints" / ("step-0000000" + step);
        return SafetensorsText::of(bytes_of(folder / "model.safetensors")).values(name);
    };
    const auto whole = job.file("job.toml");
    const auto frozen =
        job.write("frozen.toml", with_group(job, "match = [\"embeddings.*\"]\nfrozen = true\n"));
    job.trained("run", with(sets, {"train.steps=2"}));
    const auto refused = gone_on(frozen, "4", false);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("this is not the job that the run started with") &&
                                contains("\n  group: was ") && contains("--allow-change group"));
    const auto without = gone_on(frozen, "4", true);
    INFO(without.err);
    REQUIRE(without.code == 0);
    CHECK(values("2", "embeddings.word") == values("4", "embeddings.word"));
    CHECK(values("2", "classifier.weight") != values("4", "classifier.weight"));
    CHECK(gone_on(whole, "6", false).code == 2);
    const auto again = gone_on(whole, "6", true);
    INFO(again.err);
    REQUIRE(again.code == 0);
    CHECK(values("4", "embeddings.word") != values("6", "embeddings.word"));
    CHECK(values("4", "classifier.weight") != values("6", "classifier.weight"));
}

TEST_CASE("a pattern that matches nothing is told before training") {
    const TinyJob job;
    const auto file = job.write("wrong.toml", with_group(job, "match = [\"encodr.0.*\"]\nlr_factor = 0.5\n"));
    for (const Words& words :
         {Words{"config", "check", file}, Words{"train", file, "--run", job.run_folder("run")}}) {
        const auto outcome = run(words);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err,
                   contains("error: group.match: \"encodr.0.*\" is the name of no parameter; did you mean "
                            "\"encoder.0.*\"?"));
    }
}

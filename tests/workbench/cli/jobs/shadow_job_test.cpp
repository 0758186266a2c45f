// Shadows as a user has them: what a run leaves behind, and what cannot be. To add a refusal: the overrides,
// and the words that must be told.
#include <fstream>

#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words naive_attention{"attention.shadow.backend=naive", "attention.shadow.every=3"};

nlohmann::json summary_of(const TinyJob& job, const std::string& name) {
    auto summary = json_of(fs::path(job.run_folder(name)) / "summary.json");
    CHECK(JsonSchema(source_dir() / "docs/schema/summary.json").faults(summary).empty());
    return summary;
}

// All but state.json, in which stands what was configured, and its checksum.
void require_same_training(const fs::path& expected, const fs::path& actual) {
    CHECK(step_losses(expected) == step_losses(actual));
    const auto last = checkpoints(expected).back();
    REQUIRE(checkpoints(actual).back() == last);
    for (const auto& file : {fs::path("checkpoints") / last / "model.safetensors",
                             fs::path("checkpoints") / last / "optimizer.safetensors",  // and the generator
                             fs::path("model/model.safetensors")}) {
        INFO(file);
        const bool same = bytes_of(expected / file) == bytes_of(actual / file);
        CHECK(same);
    }
}

}  // namespace

TEST_CASE("a run with shadows ends in the same bytes as one without, and tells of them") {
    const TinyJob job;
    REQUIRE(job.trained("plain").code == 0);
    const auto shadowed =
        job.trained("shadowed", with(naive_attention, {"loss.shadow={backend=\"naive\",every=1}"}));
    INFO(shadowed.err);
    REQUIRE(shadowed.code == 0);
    require_same_training(job.run_folder("plain"), job.run_folder("shadowed"));
    CHECK(eval_losses(job.run_folder("plain")) == eval_losses(job.run_folder("shadowed")));
    CHECK_FALSE(summary_of(job, "plain").contains("shadow"));

    const auto lines = summary_of(job, "shadowed")["shadow"];
    REQUIRE(lines.size() == 2);
    CHECK(lines[0]["slot"] == "attention");
    CHECK(lines[0]["trusted"] == "torch/torch");
    CHECK(lines[0]["candidate"] == "naive/naive");
    CHECK(lines[0]["every"] == 3);
    CHECK(lines[0]["dropout"] == "off");
    CHECK(lines[0]["steps"] == 3);
    CHECK(lines[0]["calls"] == 3 * 3 * tiny_layers);  // steps 1, 4 and 7 of three micro-batches
    CHECK(lines[0]["faults"]["calls"] == 0);
    CHECK(lines[0]["outputs"]["largest"].get<double>() < 1e-4);
    CHECK(lines[0]["gradients"]["calls"] == lines[0]["calls"]);
    CHECK(lines[0]["time_ratio"]["median"].get<double>() > 0.0);
    CHECK(lines[1]["steps"] == 8);
    CHECK_THAT(shadowed.out, contains("naive/naive beside torch/torch, 18 calls in 3 steps"));
    CHECK_THAT(shadowed.out, contains("drift of gradients"));

    std::ifstream metrics(fs::path(job.run_folder("shadowed")) / "metrics.jsonl");
    std::vector<int> steps;
    for (std::string line; std::getline(metrics, line);) {
        const auto json = nlohmann::json::parse(line);
        if (!json.contains("shadow")) continue;
        for (const auto& slot : json["shadow"])
            if (slot["slot"] == "attention") steps.push_back(json["step"].get<int>());
    }
    CHECK(steps == std::vector<int>{1, 4, 7});

    const auto page = job.file("report.html");
    REQUIRE(run({"report", job.run_folder("shadowed"), "--html", page}).code == 0);
    const auto html = bytes_of(page);
    CHECK_THAT(html, contains("<h2>Shadows</h2>"));
    REQUIRE(run({"report", job.run_folder("plain"), "--html", page}).code == 0);
    CHECK(bytes_of(page).find("<h2>Shadows</h2>") == std::string::npos);
}

TEST_CASE("a run is gone on with, with another shadow and without any") {
    const TinyJob job;
    REQUIRE(job.trained("whole", {"train.checkpoint_every=4"}).code == 0);
    REQUIRE(job.trained("parts", with(naive_attention, {"train.steps=4", "train.checkpoint_every=4"})).code ==
            0);
    const auto resumed =
        job.trained("parts", {"train.checkpoint_every=4", "activation.shadow.backend=naive"}, {"--resume"});
    INFO(resumed.err);
    REQUIRE(resumed.code == 0);
    require_same_training(job.run_folder("whole"), job.run_folder("parts"));
    // It had its turn in step 1, and has it next in step 101.
    CHECK_FALSE(summary_of(job, "parts").contains("shadow"));
}

TEST_CASE("the plan says what shadows what, and who cannot is an error at its key") {
    const TinyJob job;
    const auto json =
        run_json({"plan", job.file("job.toml"), "--set", "attention.shadow.backend=[flash,naive]"});
    CHECK(JsonSchema(source_dir() / "docs/schema/plan.json").faults(json).empty());
    REQUIRE(json["shadows"].size() == 1);
    CHECK(json["shadows"][0]["slot"] == "attention");
    CHECK(json["shadows"][0]["phase"] == "train");
    CHECK(json["shadows"][0]["every"] == 100);
    const auto shown = run({"plan", job.file("job.toml"), "--set", "attention.shadow.backend=naive"});
    CHECK_THAT(shown.out, contains("shadowed by naive/naive"));
    CHECK_THAT(shown.out, contains("every 100 steps"));

    for (const auto* command : {"plan", "train"})
        check_refused(run({command, job.file("job.toml"), "--set", "attention.shadow.backend=nobody"}),
                      {"attention.shadow.backend", "nobody"});
    check_refused(run({"config", "check", job.file("job.toml"), "--set", "loss.shadow.backend=nobody"}),
                  {"loss.shadow.backend", "nobody"});
}

TEST_CASE("what cannot be shadowed is refused by its key") {
    const TinyJob job;
    const auto refused = [&](const Words& sets, const Words& parts) {
        INFO(parts.front());
        check_refused(run(job.train("refused", sets)), parts);
        CHECK_FALSE(fs::exists(job.run_folder("refused") + "/config.toml"));
    };
    refused({"attention.shadow.backend=auto"}, {"attention.shadow.backend", "a candidate is named"});
    refused({"attention.shadow.every=0"}, {"attention.shadow.every", "an integer >= 1"});
    refused({"optimizer.shadow.backend=torch"}, {"optimizer.shadow"});
    refused(with(naive_attention, {"train.cuda_graph=true"}),
            {"attention.shadow.backend", "replayed from a graph"});
    refused(with(naive_attention, {"distributed.mesh.tensor=2"}),
            {"attention.shadow.backend", "distributed.mesh.tensor = 1"});
    refused(with(naive_attention, {"distributed.shard=full"}),
            {"attention.shadow.backend", "divided over ranks"});
    check_refused(run(job.train("refused", naive_attention, {"--trace-nonfinite"})),
                  {"--trace-nonfinite", "shadow"});
    const auto ranks = run(with({"launch", "-n", "2"}, job.train("refused", naive_attention)));
    CHECK(ranks.code == 2);
    CHECK_THAT(ranks.err, contains("attention.shadow.backend"));
    CHECK_THAT(ranks.err, contains("2 ranks"));
}

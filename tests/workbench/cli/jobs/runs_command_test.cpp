// What `switchyard runs` tells of real trainings, held against the files that these left.
#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

TEST_CASE("trained runs are listed as they recorded themselves") {
    const TinyJob job;
    const Words both{"train.eval_every=2", "train.keep_best=eval.loss"};
    auto slow = both;
    slow.emplace_back("optimizer.lr=1e-4");
    job.trained("runs/fast", both);
    job.trained("runs/slow", slow);
    const auto list = run_json({"runs", job.file("runs"), "--sort", "eval.loss"});
    CHECK(schema_faults("runs.json", list) == Words{});
    CHECK(list["differing"] == nlohmann::json{"optimizer.lr"});
    REQUIRE(list["runs"].size() == 2);
    double before = 0.0;
    for (const auto& one : list["runs"]) {
        INFO(one.dump(2));
        const fs::path folder = one["folder"].get<std::string>();
        const auto summary = json_of(folder / "summary.json"),
                   best = json_of(folder / "checkpoints/best.json");
        CHECK(one["state"] == "finished");
        CHECK(one["problems"].empty());
        for (const char* key : {"ranks", "steps", "train_loss", "samples_per_second"})
            CHECK(one[key] == summary[key]);
        CHECK(one["scores"]["loss"]["last"]["value"] == summary["eval"]["loss"]);
        CHECK(one["scores"]["accuracy"]["last"]["value"] == summary["eval"]["accuracy"]);
        CHECK(one["scores"]["loss"]["best"]["step"] == best["step"]);
        CHECK(one["scores"]["loss"]["best"]["value"] == best["value"]);
        CHECK(one["scores"]["loss"]["best"]["value"] >= before);
        before = one["scores"]["loss"]["best"]["value"];
        CHECK(one["config"]["optimizer.lr"] == (one["name"] == "fast" ? "0.001" : "1e-04"));
    }
}

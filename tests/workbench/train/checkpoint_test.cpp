// Which checkpoint is the newest, and which are kept. What a whole run does with them:
// tests/workbench/cli/jobs.
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_folder.h"
#include "core/workbench/train/checksums.h"

#include "nested_json.h"

#include <switchyard_test.h>

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

std::string folder_with(const std::vector<std::string>& names) {
    const auto folder = test::temporary_dir("checkpoints");
    for (const auto& name : names) {
        fs::create_directories(folder / name);
        std::ofstream(folder / name / "state.json") << "{}";
    }
    return folder.string();
}

using FileNames = std::set<std::string>;

FileNames names_in(const std::string& folder) {
    FileNames names;
    for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
    return names;
}

}  // namespace

TEST_CASE("the newest checkpoint is the one of the most steps, whatever the width of its number") {
    CHECK_FALSE(train::newest_checkpoint(folder_with({})));
    const auto folder = folder_with({"step-00000009", "step-99999999", "step-100000000", "step-20000000"});
    CHECK(train::newest_checkpoint(folder) == folder + "/step-100000000");
}

TEST_CASE("a folder that is not named like a checkpoint is none") {
    const auto folder =
        folder_with({"step-00000002", "step-00000009.bak", "step-", "step--5", "step-9x", "steps"});
    fs::create_directory(folder + "/step-00000003");  // without a state.json
    CHECK(train::newest_checkpoint(folder) == folder + "/step-00000002");
}

TEST_CASE("under another precision policy parameters come from the float32 values of the checkpoint") {
    const std::string full =
        "model: m\nprecision model train: amp/fp32\noptimizer model train: torch/torch\n";
    const std::string pure =
        "model: m\nprecision model train: amp/bf16_pure\noptimizer model train: torch/torch\n";
    const auto exact = at::arange(6, at::kFloat).add(0.001F);  // not exact in bfloat16
    model::Parameters wide, low, back;
    wide.add("weight", exact.clone());
    low.add("weight", at::zeros({6}, at::kBFloat16));
    back.add("weight", at::zeros({6}, at::kFloat));
    train::TrainingState state;
    state.plan = full;
    state.precision.entries.push_back({"loss_scale", at::full({}, 4.0F)});
    const auto folder = test::temporary_dir("checkpoints").string();
    CHECK(train::save_checkpoint(folder, state, wide, 2) == std::nullopt);
    auto down = train::load_checkpoint(folder + "/step-00000000", pure, low);
    INFO(down.error);
    REQUIRE(down.state);
    CHECK(down.state->other_policy == "amp/fp32");
    CHECK(down.state->precision.entries.empty());
    CHECK(down.state->masters.at("weight").equal(exact));
    CHECK(low.find("weight")->value.equal(exact.to(at::kBFloat16)));

    // And up again: nothing was lost on the way.
    down.state->plan = pure;
    down.state->progression.step = 1;
    CHECK(train::save_checkpoint(folder, *down.state, low, 2) == std::nullopt);
    const auto up = train::load_checkpoint(folder + "/step-00000001", full, back);
    REQUIRE(up.state);
    CHECK(up.state->masters.empty());
    CHECK(back.find("weight")->value.equal(exact));
}

TEST_CASE("where more than the policy differs the lines are shown") {
    model::Parameters parameters;
    parameters.add("weight", at::arange(6, at::kFloat));
    train::TrainingState state;
    state.plan = "precision model train: amp/fp32\noptimizer model train: torch/torch\n";
    const auto folder = test::temporary_dir("checkpoints").string();
    CHECK(train::save_checkpoint(folder, state, parameters, 2) == std::nullopt);
    const auto read = train::load_checkpoint(
        folder + "/step-00000000", "precision model train: amp/bf16\noptimizer model train: fused/fused\n",
        parameters);
    CHECK(read.error == folder +
                            "/step-00000000: was saved under another model or plan:"
                            "\n  saved: precision model train: amp/fp32"
                            "\n  now:   precision model train: amp/bf16"
                            "\n  saved: optimizer model train: torch/torch"
                            "\n  now:   optimizer model train: fused/fused");
}

TEST_CASE("the oldest checkpoints go, also where their numbers grow by a digit") {
    const auto folder = test::temporary_dir("checkpoints").string();
    model::Parameters parameters, loaded;
    parameters.add("weight", at::arange(6, at::kFloat));
    loaded.add("weight", at::arange(6, at::kFloat).neg());
    train::TrainingState state;
    for (const std::int64_t step : {99999998, 99999999, 100000000}) {
        state.progression.step = step;
        CHECK(train::save_checkpoint(folder, state, parameters, 2) == std::nullopt);
    }
    CHECK(train::newest_checkpoint(folder) == folder + "/step-100000000");
    CHECK(fs::exists(folder + "/step-99999999"));
    CHECK_FALSE(fs::exists(folder + "/step-99999998"));

    const auto read = train::load_checkpoint(folder + "/step-100000000", "", loaded);
    REQUIRE(read.error.empty());
    CHECK(read.state->progression.step == 100000000);
    CHECK(loaded.find("weight")->value.equal(parameters.find("weight")->value));
}

TEST_CASE("the checkpoint that a run has gone back to is replaced, the one of its own state is not") {
    const auto folder = test::temporary_dir("checkpoints").string();
    model::Parameters parameters;
    parameters.add("weight", at::full({6}, 1.0F));
    train::TrainingState state;
    state.progression.step = 2;
    state.progression.loader.batch = 2;
    const auto saved = [&](float weight) {
        parameters.find("weight")->value.detach().fill_(weight);
        CHECK(train::save_checkpoint(folder, state, parameters, 1) == std::nullopt);
        const auto read = train::load_checkpoint(folder + "/step-00000002", "", parameters);
        INFO(read.error);
        REQUIRE(read.state);
        CHECK(names_in(folder) == FileNames{"step-00000002"});
        return read.state->progression;
    };
    const auto weight = [&] { return parameters.find("weight")->value[0].item<float>(); };
    CHECK(saved(1.0F).loader.batch == 2);
    saved(2.0F);
    CHECK(weight() == 1.0F);
    state.progression.loader.batch = 4;
    state.progression.rewinds = 1;
    const auto again = saved(3.0F);
    CHECK(weight() == 3.0F);
    CHECK(again.loader.batch == 4);
    CHECK(again.rewinds == 1);
}

TEST_CASE("a kill while a checkpoint is replaced leaves the one or the other") {
    const auto folder = folder_with({"step-00000001", "step-000000002"});  // made way
    CHECK(train::newest_checkpoint(folder) == folder + "/step-000000002");
    fs::copy(folder + "/step-000000002", folder + "/step-00000002");
    CHECK(train::newest_checkpoint(folder) == folder + "/step-00000002");
    model::Parameters parameters;
    train::TrainingState state;
    state.progression.step = 2;
    CHECK(train::save_checkpoint(folder, state, parameters, 2) == std::nullopt);
    CHECK(names_in(folder) == FileNames{"step-00000001", "step-00000002"});
}

TEST_CASE("the best checkpoint stays beside the newest, until another is the best") {
    const auto folder = test::temporary_dir("checkpoints").string();
    model::Parameters parameters;
    parameters.add("weight", at::arange(6, at::kFloat));
    train::TrainingState state;
    const auto steps_after = [&](std::int64_t step, bool best) {
        state.progression.step = step;
        CHECK(train::save_checkpoint(folder, state, parameters, 2) == std::nullopt);
        if (best) CHECK(train::mark_best(folder, {step, "eval.loss", 0.5}, 2) == std::nullopt);
        std::vector<std::int64_t> steps;
        for (const auto& [number, path] : train::checkpoints_in(folder)) steps.push_back(number);
        return steps;
    };
    using Steps = std::vector<std::int64_t>;
    CHECK(steps_after(1, true) == Steps{1});
    CHECK(steps_after(2, false) == Steps{1, 2});
    CHECK(steps_after(3, false) == Steps{1, 2, 3});
    CHECK(steps_after(4, false) == Steps{1, 3, 4});
    CHECK(train::read_best(folder) == train::BestMark{1, "eval.loss", 0.5});
    CHECK(steps_after(5, true) == Steps{4, 5});
    CHECK(train::read_best(folder) == train::BestMark{5, "eval.loss", 0.5});
    CHECK(steps_after(6, false) == Steps{5, 6});
}

TEST_CASE("where it is not known which checkpoint is the best none is removed") {
    const auto folder = folder_with({"step-1", "step-2", "step-3"});
    CHECK_FALSE(train::read_best(folder));
    for (const char* const text : {"", "{", "[]", "{\"step\":\"1\",\"metric\":\"eval.loss\",\"value\":1}",
                                   "{\"step\":1,\"metric\":\"eval.loss\",\"value\":null}"}) {
        INFO(text);
        std::ofstream(folder + "/best.json") << text;
        CHECK_THROWS_WITH(train::read_best(folder), test::contains(folder + "/best.json"));
        train::remove_old_checkpoints(folder, 1);
        CHECK(train::checkpoints_in(folder).size() == 3);
    }
    fs::remove(folder + "/best.json");
    train::remove_old_checkpoints(folder, 1);
    CHECK(train::checkpoints_in(folder).size() == 1);
}

TEST_CASE("a state that nests deeper than JSON may is refused in words") {
    const auto folder = test::temporary_dir("checkpoints").string(), checkpoint = folder + "/step-00000000";
    model::Parameters parameters;
    parameters.add("weight", at::arange(6, at::kFloat));
    CHECK(train::save_checkpoint(folder, train::TrainingState{}, parameters, 2) == std::nullopt);
    std::ostringstream good;
    good << std::ifstream(checkpoint + "/state.json").rdbuf();
    const auto loaded = [&](std::size_t beyond) {
        std::ofstream(checkpoint + "/state.json") << test::nested(good.str(), beyond);
        REQUIRE_FALSE(
            train::write_checksums(checkpoint, {"model.safetensors", "optimizer.safetensors", "state.json"}));
        return train::load_checkpoint(checkpoint, "", parameters);
    };
    const auto border = loaded(0);
    INFO(border.error);
    CHECK(border.state);
    const auto deep = loaded(1);
    CHECK_FALSE(deep.state);
    CHECK_THAT(deep.error,
               test::contains(checkpoint + ": state.json is damaged: not valid JSON at line 1, column "));
    CHECK_THAT(deep.error, test::contains("more than 64 lists and objects inside each other"));
}

// Which checkpoint is the newest, and which are kept. What a whole run does with them: tests/jobs.
#include <filesystem>
#include <fstream>

#include <ATen/ops/arange.h>

#include <switchyard/train/checkpoint.h>

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

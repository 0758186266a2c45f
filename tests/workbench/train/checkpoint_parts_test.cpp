// A checkpoint that several write, each a part: it is read as one that one process wrote.
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "core/workbench/train/checkpoint.h"
#include "core/workbench/train/checkpoint_files.h"
#include "core/workbench/train/checksums.h"

#include <switchyard_test.h>

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

using Weights = std::vector<std::pair<std::string, at::Tensor>>;

const at::Tensor first = at::arange(6, at::kFloat), second = at::arange(8, at::kFloat).neg().view({2, 4});

model::Parameters parameters_of(const Weights& weights) {
    model::Parameters parameters;
    for (const auto& [name, value] : weights) parameters.add(name, value.clone());
    return parameters;
}

model::Parameters empty_parameters() {
    return parameters_of({{"first", at::zeros({6})}, {"second", at::zeros({2, 4})}});
}

struct Part {
    Weights weights;
    train::TrainingState state;
};

// The second rank has the parameter that comes first.
std::vector<Part> two_parts() {
    Part one{{{"second", second}}, {}}, other{{{"first", first}}, {}};
    for (auto* part : {&one, &other}) {
        part->state.plan = "model: m\n";
        part->state.progression.step = 7;
        part->state.optimizer.algorithm = "adamw";
        part->state.averaged = true;
        const auto& [name, value] = part->weights.front();
        part->state.masters[name] = value.add(0.5);
        part->state.average[name] = value.mul(2);
    }
    one.state.optimizer.entries = {{"second", "m", second.add(1)}, {"second", "v", second.add(2)}};
    other.state.optimizer.entries = {{"first", "m", first.add(1)}};
    one.state.precision.entries = {{"loss_scale", at::full({}, 4.0F)}};
    one.state.progression.generator = at::arange(3, at::kByte);
    return {one, other};
}

std::string saved(const std::vector<Part>& parts) {
    const auto folder = test::temporary_dir("checkpoints").string();
    const auto& first_state = parts.front().state;
    const auto begun = train::begin_checkpoint(folder, first_state.progression);
    REQUIRE(begun.error == std::nullopt);
    std::vector<std::string> words;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const train::CheckpointPart place{static_cast<std::int64_t>(i),
                                          static_cast<std::int64_t>(parts.size())};
        const auto written =
            train::write_part(begun.aside, place, parts[i].state, parameters_of(parts[i].weights));
        REQUIRE(written.error == std::nullopt);
        words.push_back(written.word);
    }
    REQUIRE(train::finish_checkpoint(folder, begun.aside, first_state, words, 2) == std::nullopt);
    CHECK_FALSE(fs::exists(begun.aside));
    return folder + "/step-00000007";
}

// Writes state.json anew, with its checksum, after `change` of it.
template <class Change>
std::string with_state(const std::string& checkpoint, const Change& change) {
    auto state = nlohmann::json::parse(std::ifstream(checkpoint + "/state.json"));
    change(state);
    std::ofstream(checkpoint + "/state.json") << state.dump();
    const auto files = train::files_of(checkpoint).all();
    CHECK(train::write_checksums(checkpoint, files) == std::nullopt);
    auto parameters = empty_parameters();
    return train::load_checkpoint(checkpoint, "model: m\n", parameters).error;
}

}  // namespace

TEST_CASE("a checkpoint in parts is read as one") {
    const auto checkpoint = saved(two_parts());
    auto parameters = empty_parameters();
    const auto read = train::load_checkpoint(checkpoint, "model: m\n", parameters);
    INFO(read.error);
    REQUIRE(read.state);
    CHECK(parameters.find("first")->value.equal(first));
    CHECK(parameters.find("second")->value.equal(second));
    const auto& state = *read.state;
    CHECK(state.progression.step == 7);
    REQUIRE(state.optimizer.entries.size() == 3);
    const auto entry = [&](std::size_t i, const char* parameter, const char* key, const at::Tensor& value) {
        CHECK(state.optimizer.entries[i].parameter == parameter);
        CHECK(state.optimizer.entries[i].key == key);
        CHECK(state.optimizer.entries[i].value.equal(value));
    };
    entry(0, "second", "m", second.add(1));
    entry(1, "second", "v", second.add(2));
    entry(2, "first", "m", first.add(1));
    CHECK(state.masters.at("first").equal(first.add(0.5)));
    CHECK(state.masters.at("second").equal(second.add(0.5)));
    CHECK(state.average.at("first").equal(first.mul(2)));
    CHECK(state.average.at("second").equal(second.mul(2)));
    REQUIRE(state.precision.entries.size() == 1);
    CHECK(state.progression.generator.equal(at::arange(3, at::kByte)));
    const auto weights = train::weights_of(checkpoint);
    CHECK(weights.path == checkpoint + "/average.safetensors.index.json");
    CHECK(weights.fault.empty());
}

TEST_CASE("an index says how many bytes its tensors have, averages in float32 more than their weights") {
    auto parts = two_parts();
    for (auto& part : parts) part.weights.front().second = part.weights.front().second.to(at::kBFloat16);
    const auto checkpoint = saved(parts);
    const auto bytes = [&](const std::string& index) {
        return nlohmann::json::parse(std::ifstream(checkpoint + "/" + index))["metadata"]["total_size"];
    };
    CHECK(bytes("model.safetensors.index.json") == (6 + 8) * 2);
    CHECK(bytes("average.safetensors.index.json") == (6 + 8) * 4);
}

TEST_CASE("a rank may have nothing to write of a checkpoint in parts") {
    auto parts = two_parts();
    Part none;
    none.state.averaged = true;
    parts.push_back(none);
    auto parameters = empty_parameters();
    const auto read = train::load_checkpoint(saved(parts), "model: m\n", parameters);
    INFO(read.error);
    REQUIRE(read.state);
    CHECK(read.state->optimizer.entries.size() == 3);
}

TEST_CASE("a part that is not what was written is named, and changes nothing") {
    for (const std::string file : {"model-00002-of-00002.safetensors", "optimizer-00001-of-00002.safetensors",
                                   "average-00002-of-00002.safetensors", "model.safetensors.index.json"}) {
        INFO(file);
        const auto checkpoint = saved(two_parts());
        std::ofstream(checkpoint + "/" + file, std::ios::app) << "x";
        auto parameters = empty_parameters();
        const auto read = train::load_checkpoint(checkpoint, "model: m\n", parameters);
        CHECK_FALSE(read.state);
        CHECK_THAT(read.error, test::contains(checkpoint + ": " + file + ": is damaged"));
        CHECK(parameters.find("first")->value.equal(at::zeros({6})));
    }
    const auto checkpoint = saved(two_parts());
    fs::remove(checkpoint + "/optimizer-00002-of-00002.safetensors");
    auto parameters = empty_parameters();
    CHECK_THAT(train::load_checkpoint(checkpoint, "model: m\n", parameters).error,
               test::contains("optimizer-00002-of-00002.safetensors: cannot be read"));
}

TEST_CASE("what state.json says of the parts has to fit them") {
    const auto refused = [](const nlohmann::json& parts, const std::string& text) {
        INFO(parts);
        CHECK_THAT(with_state(saved(two_parts()), [&](auto& state) { state["parts"] = parts; }),
                   test::contains(text));
    };
    refused({2, 2}, "\"parts\" has numbers of entries that are not there");
    refused({-1, 4}, "\"parts\" has numbers of entries that are not there");
    refused({"2", 1}, "\"parts\" has numbers of entries that are not there");
    refused({1, 1}, "\"parts\" has fewer entries than \"entries\"");
    refused({1, 2}, "optimizer-00002-of-00002.safetensors has no tensor 1");
    CHECK_THAT(with_state(saved(two_parts()), [](auto& state) { state["version"] = 2; }),
               test::contains("state.json has version 2, this program reads 2, and 3 of what several ranks "
                              "wrote"));
}

TEST_CASE("what could not be written is given up, and the checkpoint before stays") {
    const auto checkpoint = saved(two_parts());
    const auto folder = fs::path(checkpoint).parent_path().string();
    auto state = two_parts().front().state;
    state.progression.step = 8;
    const auto begun = train::begin_checkpoint(folder, state.progression);
    fs::remove_all(begun.aside);
    const auto written = train::write_part(begun.aside, {0, 2}, state, parameters_of({{"second", second}}));
    REQUIRE(written.error);
    CHECK_THAT(*written.error, test::contains("model-00001-of-00002.safetensors"));
    train::give_up_checkpoint(begun.aside);
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++count;
    CHECK(count == 1);
}

// switchyard bench step, as a user runs it.
#include <algorithm>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "json_schema.h"
#include "run_switchyard.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Words = std::vector<std::string>;

// A BERT of no size: 32 wide, one layer.
// Its components cost more than they compute: code 3 is as good as 0.
nlohmann::json tiny_step(const Words& more, const std::vector<int>& codes) {
    Words words{
        "bench",  "step", "configs/demo.toml", "--blocks", "3", "--time-budget", "0.1", "--threads", "1",
        "--json", "-"};
    for (const char* value :
         {"model.layers=1", "model.hidden_size=32", "model.heads=2", "model.head_dim=16",
          "model.intermediate_size=48", "model.vocab_size=50", "batch.size=3", "batch.max_length=12"})
        words.insert(words.end(), {"--set", value});
    words.insert(words.end(), more.begin(), more.end());
    const auto shown = run(words);
    INFO(shown.err);
    CHECK(std::find(codes.begin(), codes.end(), shown.code) != codes.end());
    return nlohmann::json::parse(shown.out);
}

}  // namespace

TEST_CASE("a training step through the components is that of plain LibTorch calls") {
    for (const char* precision : {"fp32", "bf16"}) {
        const std::string stack = std::string("torch+precision=torch/") + precision;
        const auto json = tiny_step({"--plain", "--stacks", stack, "--lengths", "4-12"}, {0, 3});
        CHECK(JsonSchema(source_dir() / "docs/schema/bench_step.json").faults(json).empty());
        REQUIRE(json["rows"].size() == 2);
        CHECK(json["rows"][0]["backend"] == "plain LibTorch");
        const auto& row = json["rows"][1];
        CHECK(row["dtype"] == (precision == std::string("fp32") ? "float32" : "bfloat16"));
        CHECK(row["drift"].get<double>() < (precision == std::string("fp32") ? 1e-5 : 3e-2));
        CHECK(row["loss"].get<double>() == Approx(json["rows"][0]["loss"].get<double>()).epsilon(1e-2));
    }
}

TEST_CASE("gradients of a policy that scales the loss are compared without the scale") {
    const auto json = tiny_step({"--stacks", "torch+precision=amp/fp32,torch+precision=amp/fp16"}, {0, 3});
    REQUIRE(json["rows"].size() == 2);
    CHECK(json["rows"][1]["dtype"] == "float16");
    CHECK(json["rows"][1]["drift"].get<double>() > 0.0);
    CHECK(json["rows"][1]["drift"].get<double>() < 1e-2);
}

TEST_CASE("the fastest stack is written as overrides, and is the one that is named") {
    const auto file = temporary_dir("fastest") / "fastest";
    const auto json = tiny_step(
        {"--stacks", "naive,attention=nope,torch+precision=torch/bf16", "--fastest", file.string()}, {1});
    REQUIRE(json["rows"].size() == 3);
    CHECK_THAT(json["rows"][1]["message"].get<std::string>(), contains("attention: "));
    CHECK(json["rows"][0]["ran"]["normalization"] == "naive");
    CHECK(json["rows"][2]["ran"]["optimizer"] == "torch@fused");
    std::string expected;
    for (const auto& row : json["rows"]) {
        if (row["backend"] != json["fastest"]) continue;
        for (const auto& line : row["overrides"]) expected += line.get<std::string>() + "\n";
    }
    std::ifstream stream(file);
    CHECK(std::string(std::istreambuf_iterator<char>(stream), {}) == expected);
    CHECK_THAT(expected, contains("attention.backend="));
}

TEST_CASE("a step that plain LibTorch does not have written down is refused") {
    const auto json = tiny_step({"--plain", "--stacks", "torch", "--set", "model.norm_position=pre"}, {1});
    CHECK_THAT(json["rows"][0]["message"].get<std::string>(), contains("post-norm"));
}

TEST_CASE("a task without classes is told, not run") {
    const auto json = tiny_step({"--stacks", "torch", "--set", "task.labels=[]"}, {2});
    CHECK_THAT(json["rows"][0]["message"].get<std::string>(),
               contains("task.labels: expected the names of at least two classes"));
}

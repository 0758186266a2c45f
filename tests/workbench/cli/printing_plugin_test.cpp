// A plugin that prints to the standard output wherever it is called (tests/support/plugins/bad/prints.h):
// what commands print is theirs alone. To add a command: a test case that runs it with `printing()`.
#include "run_switchyard.h"
#include "tiny_job.h"

#include <filesystem>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

// It is probed afresh: what it prints there must stay away, too.
RunOptions printing() {
    const auto folder = temporary_dir("printing");
    const char* const file = "libtest_prints.so";
    std::filesystem::create_symlink(build_dir() / "tests/support/plugins/bad" / file, folder / file);
    return {{{"SWITCHYARD_PLUGIN_PATH", folder.string()}, {"SWITCHYARD_CACHE", (folder / "cache").string()}}};
}

const std::vector<std::string> plan_demo{"plan",  "configs/demo.toml",
                                         "--set", "model.activation=relu",
                                         "--set", "activation.backend=test_prints/relu"};

std::vector<std::string> with_json(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--json", "-"});
    return arguments;
}

// Not the flood that it begins with.
std::string end_of(const std::string& text) {
    return text.size() > 2000 ? text.substr(text.size() - 2000) : text;
}

void check_told(const std::string& text, const std::vector<std::string>& calls) {
    for (const auto& call : calls) {
        INFO(call);
        for (const char* means : {", by printf\n", ", by cout\n", ", by write\n"})
            CHECK(text.find(call + means) != std::string::npos);
    }
}

}  // namespace

TEST_CASE(
    "the JSON of a plan is whole though a plugin prints, and what it printed is on the standard error") {
    const auto outcome = run(with_json(plan_demo), printing());
    INFO(end_of(outcome.err));
    REQUIRE(outcome.code == 0);
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    REQUIRE_FALSE(json.is_discarded());
    CHECK(json.dump().find("test_prints") != std::string::npos);
    check_told(outcome.err, {"load", "init", "supports"});
}

TEST_CASE("a plan for people has nothing of it while plugins are loaded and asked") {
    auto options = printing();
    options.environment["SWITCHYARD_EXIT"] = "full";  // static objects' ends too
    const auto outcome = run(plan_demo, options);
    INFO(end_of(outcome.err));
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("test_prints"));
    for (const char* call : {"load, by", "init, by", "supports, by", "exit, by", "report\t"})
        CHECK(outcome.out.find(call) == std::string::npos);
    check_told(outcome.err, {"load", "init", "supports", "exit"});
}

TEST_CASE("JSON is whole where components are made and run, too") {
    const auto outcome = run(with_json({"bench", "activation", "--shape", "4,16", "--dtype", "float32",
                                        "--backends", "test_prints/relu", "--activation", "relu", "--blocks",
                                        "3", "--time-budget", "0.1", "--threads", "1"}),
                             printing());
    INFO(end_of(outcome.err));
    REQUIRE(outcome.code == 0);
    CHECK_FALSE(nlohmann::json::parse(outcome.out, nullptr, false).is_discarded());
    check_told(outcome.err, {"load", "init", "create", "forward", "destroy"});
}

TEST_CASE("a comparison opens no plugin that none of its arms needs") {
    const TinyJob job;
    auto options = printing();
    options.environment.erase("SWITCHYARD_CACHE");
    const auto outcome = run(
        {"compare", job.file("job.toml"), "--vary", "attention.backend=naive,torch", "--dry-run"}, options);
    INFO(end_of(outcome.err));
    REQUIRE(outcome.code == 0);
    CHECK(outcome.err.find("load, by") == std::string::npos);
}

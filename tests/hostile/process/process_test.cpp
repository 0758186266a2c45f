// What components do to the process that they run in is told by name, as a fault of the case in which they
// did it, and the cases behind it run. To add one: tests/hostile/README.md.
#include "run_switchyard.h"

#include "json_schema.h"
#include "sanitized.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Json = nlohmann::json;

// By component, of a few cases, some of which have few values.
Json verified(const std::string& components, int code, const std::string& seconds = "120",
              const RunOptions& options = {}) {
    const auto library = (build_dir() / "tests/hostile/libhostile_process.so").string();
    const auto json = run_json({"plugins", "verify", library, "--component", components, "--dtype", "float32",
                                "--filter", "relu/padded/width", "--drawn", "0", "--timeout", seconds},
                               code, options);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    return json.at("components");
}

// What one command found out of all of them, of which each has processes of its own.
const Json& report_of(const std::string& component) {
    static const Json all = verified("activation", 5);
    INFO(component);
    const auto is_meant = [&](const Json& one) {
        return one.at("component") == "hostile_process/" + component;
    };
    REQUIRE(std::count_if(all.begin(), all.end(), is_meant) == 1);
    return *std::find_if(all.begin(), all.end(), is_meant);
}

// The only one that was asked for.
Json report_alone(const std::string& component, int code, const std::string& seconds = "120",
                  const RunOptions& options = {}) {
    const auto components = verified("activation/" + component, code, seconds, options);
    REQUIRE(components.size() == 1);
    return components.at(0);
}

struct Wrong {
    const char *component, *code, *told;
};

}  // namespace

TEST_CASE("what a component changes for the whole process is told, once for each case") {
    for (const auto& [component, code, told] : std::initializer_list<Wrong> {
             {"prints", "changed_state", "20 bytes were printed to the standard output"},
                 {"reseeds", "changed_state", "generator of the CPU draws other numbers"},
                 {"ignores_interrupt", "changed_state", "what follows from SIGINT was"},
                 {"default_dtype", "changed_state", "the default dtype was float and is double"},
                 {"grad_mode", "changed_state", "the grad mode was on and is off"},
                 {"threads", "changed_state", "the number of threads was 1 and is 3"},
                 {"deterministic", "changed_state", "deterministic algorithms was off and is on"},
                 {"folder", "changed_state", "the working directory was"},
                 {"environment", "changed_state", "the environment has another HOSTILE_VARIABLE"},
                 {"file_mask", "changed_state", "the mask of new files was"},
                 {"forks", "changed_state", "the processes that were started was none"},
                 {"closes_input", "changed_state", "standard input was"},
#if defined(__x86_64__)
                 {"flushes_denormals", "changed_state", "denormal numbers (MXCSR) was"},
#endif
         }) {
        const auto& report = report_of(component);
        INFO(report.dump(1));
        const auto& faults = report.at("faults");
        REQUIRE_FALSE(faults.empty());
        CHECK(faults.at(0).at("code") == code);
        CHECK_THAT(faults.at(0).at("detail").get<std::string>(), contains(told));
        CHECK(report.at("cases") > report.at("failed"));
    }
}

TEST_CASE("a component that ends its process is told with the case, and the cases behind it run") {
    for (const auto& [component, code, told] : std::initializer_list<Wrong>{
             {"exits", "ended_process", "ended with exit code 1"},
             {"crashes", "ended_process", "killed by signal 11"},
             {"aborts", "ended_process", "killed by signal 6"},
             {"kills", "ended_process", "killed by signal 9"},
         }) {
        const auto& report = report_of(component);
        INFO(report.dump(1));
        const auto& faults = report.at("faults");
        REQUIRE(faults.size() > 1);
        CHECK(faults.at(0).at("code") == code);
        CHECK_THAT(faults.at(0).at("detail").get<std::string>(), contains(told));
        CHECK_THAT(faults.at(0).at("case").get<std::string>(), contains("activation/relu/padded/width"));
        CHECK(faults.at(0).at("case") != faults.at(1).at("case"));
        CHECK(report.at("cases") > report.at("failed"));
    }
}

TEST_CASE("a component that crashes in a call, or ends its process there, is told with the call") {
    for (const auto& [component, code, told] : std::initializer_list<Wrong>{
             {"exits", "ended_process", "ended by exit() in plugin"},
             {"crashes", "ended_process", "crashed with SIGSEGV (invalid memory access) in plugin"},
             {"aborts", "ended_process", "crashed with SIGABRT (abort) in plugin"},
         }) {
        const auto& report = report_of(component);
        INFO(report.dump(1));
        CHECK(report.at("faults").at(0).at("code") == code);
        CHECK_THAT(report.at("faults").at(0).at("detail").get<std::string>(),
                   contains(std::string(told) + " 'hostile_process', component '" + component +
                            "', activation.forward"));
    }
}

TEST_CASE("where too many cases end the process, those behind them do not run, and how many is told") {
    const auto library = (build_dir() / "tests/hostile/libhostile_process.so").string();
    const std::vector<std::string> arguments{
        "plugins",          "verify",  library, "--component", "activation/crashes", "--filter",
        "activation/relu/", "--drawn", "0"};
    const auto with = [&](const std::vector<std::string>& more) {
        auto all = arguments;
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const auto listed = run_json(with({"--mode", "support"})).at("components").at(0);
    CHECK(listed.at("not_run") == 0);
    const auto json = run_json(arguments, 5);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    const auto& report = json.at("components").at(0);
    CHECK(report.at("failed") == 20);
    CHECK(report.at("faults").size() == 20);
    const auto not_run = report.at("not_run").get<int>();
    // One case more: that in which memory is looked at.
    CHECK(report.at("cases").get<int>() + not_run == listed.at("cases").get<int>() + 1);
    const auto xml = (temporary_dir("not_run") / "verify.xml").string();
    const auto text = run(with({"--show", "1", "--junit", xml}));
    INFO(text.out << text.err);
    CHECK(text.code == 5);
    const auto many = "up to " + std::to_string(not_run) + " cases";
    CHECK_THAT(
        text.out,
        contains("20 cases ended the process or hung, so what came behind them did not run: " + many) &&
            contains("faults were found; " + many + " did not run"));
    std::ostringstream written;
    written << std::ifstream(xml).rdbuf();
    CHECK_THAT(written.str(), contains("name=\"all further cases\"") && contains(many));
}

TEST_CASE("a component that has the process end in a way of its own is told at the end") {
    const auto& report = report_of("exits_at_the_end");
    const auto& fault = report.at("faults").at(0);
    CHECK(fault.at("code") == "changed_exit");
    CHECK_THAT(fault.at("detail").get<std::string>(),
               contains("ended with exit code 0 when all cases had run"));
}

TEST_CASE("a component that has the process end in a way of its own does not choose a command's exit code") {
    if (sanitized) return skip("built with a sanitizer: it works while the process ends, and so may others");
    RunOptions options;
    options.environment["SWITCHYARD_PLUGIN_PATH"] =
        (build_dir() / "tests/hostile").string() + ":" + std::getenv("SWITCHYARD_PLUGIN_PATH");
    const auto outcome = run({"bench", "activation", "--activation", "relu", "--pass", "forward", "--shape",
                              "64,64", "--dtype", "float32", "--blocks", "2", "--time-budget", "0.01",
                              "--json", "/dev/full", "--backends", "torch,hostile_process/exits_at_the_end"},
                             options);
    CHECK_THAT(outcome.err, contains("cannot write /dev/full: No space left on device"));
    CHECK(outcome.code == 1);
}

TEST_CASE("a component that never returns hangs, and that is told") {
    RunOptions options;
    options.environment["SWITCHYARD_TEST_HANGS"] = "1";  // only then, for all others wait for it
    const auto report = report_alone("hangs", 5, "8", options);
    const auto& fault = report.at("faults").at(0);
    CHECK(fault.at("code") == "hung");
    CHECK_THAT(fault.at("detail").get<std::string>(), contains("did not end within 8.00 s (--timeout)"));
}

TEST_CASE("a component that answers in place of its process is told with the case, whatever it writes") {
    for (const std::string component :
         {"no_json", "no_object", "no_type", "no_report", "no_count", "no_end"}) {
        const auto& report = report_of(component);
        INFO(report.dump(1));
        const auto& faults = report.at("faults");
        REQUIRE_FALSE(faults.empty());
        CHECK(faults.at(0).at("code") == "ended_process");
        CHECK_THAT(faults.at(0).at("detail").get<std::string>(), contains("wrote what is no answer"));
        CHECK(report.at("cases") > report.at("failed"));
    }
}

TEST_CASE("a component that keeps memory of each call is told how much, one that keeps some once is not") {
    if (sanitized) return skip("built with a sanitizer: its allocator counts nothing");
    for (const auto& [component, at_least] : std::initializer_list<std::pair<const char*, int>>{
             {"leaks", 1 << 20}, {"leaks_little", 24}, {"keeps_tensors", 12'000}}) {
        const auto& report = report_of(component);
        INFO(report.dump(1));
        const auto& faults = report.at("faults");
        REQUIRE(faults.size() == 1);
        CHECK(faults.at(0).at("code") == "leaks");
        CHECK_THAT(faults.at(0).at("case").get<std::string>(), contains("/repeated"));
        const auto detail = faults.at(0).at("detail").get<std::string>();
        const std::string words = "memory grows by ";
        REQUIRE(detail.starts_with(words));
        CHECK(std::stoi(detail.substr(words.size())) >= at_least);
    }
    CHECK(report_alone("keeps_once", 0).at("faults").empty());
}

// Plugins that misbehave (tests/support/plugins), seen through the program: each is named with its phase and
// reason, and the others still work. To add one: its name to `bad_plugins`, then what is said of it.
#include "run_switchyard.h"

#include <filesystem>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

// The folder is searched before the build's own plugins.
RunOptions with_bad_plugins() {
    const auto folder = temporary_dir("bad");
    for (const char* name : {"throws", "crashes_at_load", "crashes_in_create"}) {
        const auto file = "libtest_" + std::string(name) + ".so";
        std::filesystem::create_symlink(build_dir() / "tests/support/plugins/bad" / file, folder / file);
    }
    return {{{"SWITCHYARD_PLUGIN_PATH", folder.string()}}};
}

const std::vector<std::string> relu_plan{"plan", "configs/demo.toml", "--set", "model.activation=relu"};

std::vector<std::string> relu_plan_with(const std::string& backend) {
    auto arguments = relu_plan;
    arguments.insert(arguments.end(), {"--set", "activation.backend=" + backend});
    return arguments;
}

}  // namespace

TEST_CASE(
    "bad plugins do not keep the good ones from being planned with, and the plan says what is wrong with "
    "each") {
    const auto outcome = run(relu_plan, with_bad_plugins());
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    for (const char* text :
         {"test_crashes_at_load/relu does not serve it: gate probe: in load: crashed with SIGSEGV",
          "test_crashes_in_create/crash does not serve it: gate probe: in create of activation 'crash': "
          "crashed with SIGSEGV",
          "test_throws/in_supports does not serve it: probe: in supports of activation 'in_supports': threw",
          "test_throws/in_create does not serve it: probe: in create of activation 'in_create': threw",
          "test_throws/in_forward does not serve it: probe: in forward of activation 'in_forward': threw"}) {
        CHECK_THAT(outcome.out, contains(text));
    }
}

TEST_CASE("a bad plugin that was asked for by name is an error with its reason, never replaced") {
    const auto options = with_bad_plugins();
    const auto check = [&](const std::string& backend, const std::string& text) {
        const auto outcome = run(relu_plan_with(backend), options);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains("--set #2: error: activation.backend: \"" + backend +
                                         "\" does not serve this activation"));
        CHECK_THAT(outcome.err, contains(text));
        CHECK_THAT(outcome.err, contains("as it is, it is served by: "));
    };
    check("in_supports", "test_throws/in_supports: probe: in supports of activation 'in_supports': threw");
    check("in_create", "in create of activation 'in_create': threw");
    check("test_crashes_at_load/relu", "gate probe: in load: crashed with SIGSEGV");
}

TEST_CASE("the doctor tells what is wrong with each bad plugin and exits with 1") {
    const auto outcome = run({"plugins", "doctor"}, with_bad_plugins());
    CHECK(outcome.code == 1);
    for (const char* text : {"test_crashes_at_load 1.0.0: refused: probe", "in load: crashed with SIGSEGV",
                             "what to do: look at its static objects",
                             "not usable: in create of activation 'in_create': threw", "3 with faults"}) {
        CHECK_THAT(outcome.out, contains(text));
    }
}

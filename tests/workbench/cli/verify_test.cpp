// switchyard plugins verify, as a plugin's author runs it. What the suite catches is tested in
// tests/sdk/conformance.
#include "run_switchyard.h"

#include "json_schema.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

TEST_CASE("a component that is right has no faults") {
    const std::vector<std::string> arguments{
        "plugins", "verify", "naive", "--component", "activation", "--dtype", "float32", "--seed", "8"};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("activation naive/naive: "));
    CHECK_THAT(text.out, contains(" 0 failed, "));
    const auto json = run_json(arguments);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    CHECK(json.at("status") == "ok");
    REQUIRE(json.at("components").size() == 1);
    CHECK(json.at("components").at(0).at("cases") > 100);
    CHECK(json.at("components").at(0).at("drawn") == 50);
    CHECK(json.at("seed") == 8);
    CHECK_THAT(text.out, contains(" (50 drawn), 0 failed"));
    CHECK_THAT(text.out, contains("seed of the random cases: 8 (--seed repeats them)"));
}

TEST_CASE("cases are drawn anew in each run, and --seed repeats them") {
    const auto worst = [](std::vector<std::string> more) {
        std::vector<std::string> arguments{"plugins",     "verify",     "naive",   "--filter", "/drawn/",
                                           "--component", "activation", "--drawn", "3"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto json = run_json(arguments);
        CHECK(json.at("components").at(0).at("cases") == 3);
        return std::pair{json.at("seed").get<std::uint64_t>(), json.at("components").at(0).at("worst_case")};
    };
    const auto first = worst({}), second = worst({});
    CHECK(first.first != second.first);
    CHECK(worst({"--seed", std::to_string(first.first)}) == first);
}

TEST_CASE("a mode looks for its part, and the case is repeated in it") {
    const auto library = (build_dir() / "tests/support/plugins/errs/libtest_errs.so").string();
    const auto of = [&](const std::string& mode, int code) {
        INFO(mode);
        const auto json =
            run_json({"plugins", "verify", library, "--component", "attention/unmasked", "--filter",
                      "padded/causal/shape/f32/B1H2K2/N127M127", "--drawn", "0", "--mode", mode},
                     code);
        CHECK(schema_faults("plugins_verify.json", json) == no_faults);
        return json;
    };
    const auto outputs = of("correctness", 5);
    const auto& fault = outputs.at("components").at(0).at("faults").at(0);
    CHECK(fault.at("code") == "wrong_output");
    CHECK_THAT(fault.at("repeat").get<std::string>(), contains(" --mode correctness "));
    of("robustness", 0);
}

TEST_CASE("the mode of support tells what is served and why the rest is not, and runs nothing") {
    const std::vector<std::string> arguments{"plugins",     "verify",    "torch",  "--mode", "support",
                                             "--component", "precision", "--show", "1"};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("precision torch/fp32: serves ") && contains(" listed cases: f32 ") &&
                             contains("\n    refuses ") && contains(": dtype: expected float32") &&
                             contains(" more reasons: --show N, or --json, has them all") &&
                             contains("what components serve; no case ran"));
    const auto json = run_json(arguments);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    const auto& found = json.at("components").at(0);
    CHECK(found.at("support").size() ==
          found.at("cases").get<std::size_t>() + found.at("skipped").get<std::size_t>());
    for (const auto& one : found.at("support")) CHECK(one.at("served") == one.at("reasons").empty());
}

TEST_CASE("the mode of speed is bench of the component beside LibTorch's own calls") {
    const std::vector<std::string> arguments{"plugins",    "verify",    "naive", "--component",
                                             "activation", "--mode",    "speed", "--dtype",
                                             "float32",    "--timeout", "60"};
    const auto json = run_json(arguments);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    const auto& bench = json.at("components").at(0).at("bench");
    CHECK(schema_faults("bench.json", bench) == no_faults);
    for (const std::string backend : {"naive/naive", "torch/torch"}) {
        const auto is_of_it = [&](const auto& row) { return row.at("backend") == backend; };
        CHECK(std::ranges::any_of(bench.at("rows"), is_of_it));
    }
}

TEST_CASE("the deadline of a component that is timed says what it does to the time that it is timed for") {
    const auto help = run({"plugins", "verify", "--help"});
    CHECK_THAT(help.out, contains("of which a tenth"));
}

TEST_CASE("what is not timed by itself is told, and where nothing is timed nothing is known") {
    const auto text = run({"plugins", "verify", "torch", "--component", "precision", "--mode", "speed"});
    INFO(text.out << text.err);
    CHECK(text.code == 4);
    CHECK_THAT(text.out, contains("precision torch/fp32: is not timed by itself; `switchyard compare`") &&
                             contains("nothing was timed"));
    const auto none = run({"plugins", "verify", "naive", "--mode", "support", "--filter", "nowhere"});
    CHECK(none.code == 4);
    CHECK_THAT(none.out, contains("no case has \"nowhere\" in its name"));
}

TEST_CASE("modes that there are not, or that go with no other, are refused") {
    const auto refused = [](const std::vector<std::string>& more, const std::string& text) {
        std::vector<std::string> arguments{"plugins", "verify", "naive", "--mode"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto found = run(arguments);
        CHECK(found.code == 2);
        CHECK_THAT(found.err, contains(text));
    };
    refused({"gradient"},
            "--mode gradient: expected one of correctness, gradients, robustness, speed, "
            "support; did you mean gradients?");
    refused({"speed,support"}, "--mode speed: goes with no other mode; expected it alone");
    refused({"speed", "--filter", "x"}, "--filter: does not go with --mode speed");
    refused({"correctness", "--report", "x.json"}, "--report: --mode leaves out what is not looked for");
}

TEST_CASE("a component with faults is told with cases and exit code 5") {
    const auto library = (build_dir() / "tests/support/plugins/bad/libtest_throws.so").string();
    const std::vector<std::string> arguments{"plugins", "verify",  library,  "--dtype", "float32",
                                             "--show",  "2",       "--seed", "1",       "--filter",
                                             "/width/", "--drawn", "0"};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 5);
    CHECK_THAT(text.out,
               contains("accepted_then_threw in probe: in create of activation 'in_create': threw"));
    CHECK_THAT(text.out, contains("more: --json has them all"));
    const auto json = run_json(arguments, 5);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    CHECK(json.at("status") == "faults");
}

namespace {

// What the command that a fault brings along tells of its component.
nlohmann::json repeated(const nlohmann::json& fault) {
    std::istringstream words(fault.at("repeat").get<std::string>());
    std::vector<std::string> again;
    for (std::string word; words >> word;) again.push_back(word);
    again.erase(again.begin());  // the program
    return run_json(again, 5).at("components").at(0);
}

}  // namespace

TEST_CASE("a fault in a listed case comes with the command that repeats it") {
    const auto library = (build_dir() / "tests/support/plugins/errs/libtest_errs.so").string();
    const std::vector<std::string> arguments{
        "plugins", "verify",  library, "--component", "attention/unmasked", "--dtype",
        "float32", "--drawn", "0"};
    const auto text = run(arguments);
    CHECK_THAT(text.out, contains("repeat it: switchyard plugins verify " + library +
                                  " --component attention/unmasked --dtype float32 --drawn 0 --filter "));
    const auto fault = run_json(arguments, 5).at("components").at(0).at("faults").at(0);
    CHECK(repeated(fault).at("faults").at(0) == fault);
}

TEST_CASE("a fault in a drawn case comes with the command that repeats it") {
    const auto library = (build_dir() / "tests/support/plugins/errs/libtest_errs.so").string();
    const std::vector<std::string> arguments{
        "plugins",  "verify",  library,   "--component", "attention/unmasked",
        "--filter", "/drawn/", "--drawn", "20",          "--seed",
        "7",        "--show",  "1"};
    const auto text = run(arguments);
    INFO(text.out << text.err);
    CHECK(text.code == 5);
    CHECK_THAT(text.out, contains("repeat it: switchyard plugins verify " + library +
                                  " --component attention/unmasked --seed 7 --drawn "));
    const auto json = run_json(arguments, 5);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    const auto fault = json.at("components").at(0).at("faults").at(0);
    const auto alone = repeated(fault);
    CHECK(alone.at("cases") == 1);
    CHECK(alone.at("faults").at(0) == fault);
}

TEST_CASE("where no case ran, nothing is claimed") {
    const auto outcome =
        run({"plugins", "verify", "naive", "--component", "activation", "--filter", "no such case"});
    CHECK(outcome.code == 4);
    CHECK_THAT(outcome.out, contains("activation naive/naive: no case has \"no such case\" in its name"));
    CHECK_THAT(outcome.out, contains("no case ran: nothing is known"));
}

TEST_CASE("a plugin that cannot be used is refused with its reason") {
    const auto library = (temporary_dir("verify") / "libbroken.so").string();
    std::ofstream(library) << "this is no library";
    const auto outcome = run({"plugins", "verify", library});
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, contains(library + ": refused at gate manifest: "));
    CHECK(schema_faults("plugins_verify.json", run_json({"plugins", "verify", library}, 1)) == no_faults);
}

TEST_CASE("what is mistyped is told with what was meant") {
    const auto check = [](std::vector<std::string> arguments, const std::string& text) {
        arguments.insert(arguments.begin(), {"plugins", "verify"});
        const auto outcome = run(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(outcome.err, contains(text));
    };
    check({"navie"}, "error: no plugin is called \"navie\"; did you mean \"naive\"?");
    check({"naive", "--dtype", "flaot32"}, "error: --dtype flaot32: expected one of float32, ");
    check({"naive", "--device", "gpu"}, "error: --device gpu: expected one of cpu, cuda");
    check({"naive", "--component", "atention"}, "error: no component atention in naive");
}

TEST_CASE("options of a component are given with --option, and what is wrong with them is told at once") {
    const std::vector<std::string> quick{"plugins",       "verify",   "chunked",
                                         "--dtype",       "float32",  "--filter",
                                         "/causal/shape", "--option", "chunked.chunk_size=5",
                                         "--drawn",       "0"};
    const auto text = run(quick);
    INFO(text.out << text.err);
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("attention chunked/chunked with chunk_size=5: "));
    const auto json = run_json(quick);
    CHECK(schema_faults("plugins_verify.json", json) == no_faults);
    CHECK(json.at("components").at(0).at("options").at("chunk_size") == 5);

    const auto bad =
        run({"plugins", "verify", "chunked", "--option", "chunked.chnk_size=64", "--option", "chunk_size=0",
             "--option", "chunkd.chunk_size=64", "--option", "chunk_size=many", "--option", "chunk_size",
             "--option", "chunk_size=8", "--option", "chunked.chunk_size=16"});
    CHECK(bad.code == 2);
    CHECK(bad.out.empty());
    CHECK_THAT(bad.err, contains("--option #1: error: chunked.chnk_size: no such option; expected one of "));
    CHECK_THAT(bad.err, contains("did you mean chunk_size?"));
    CHECK_THAT(bad.err, contains("--option #2: error: chunk_size: got the integer 0; expected "));
    CHECK_THAT(bad.err,
               contains("--option #3: error: chunkd: none of the components under test is called so; "
                        "expected one of chunked; did you mean chunked?"));
    CHECK_THAT(bad.err, contains("--option #4: error: chunk_size: got the string \"many\"; expected "));
    CHECK_THAT(bad.err,
               contains("there is no `=`; expected [COMPONENT.]NAME=VALUE, such as chunked.chunk_size=64"));
    CHECK_THAT(bad.err, contains("--option #7: error: chunked.chunk_size: is given twice"));
    const auto none = run({"plugins", "verify", "naive", "--component", "loss", "--option", "size=1"});
    CHECK(none.code == 2);
    CHECK_THAT(none.err, contains("--option #1: error: size: no such option; expected none: there are none"));
}

TEST_CASE("a device that the machine lacks is bad input") {
    const auto cuda =
        run({"plugins", "verify", "naive", "--device", "cuda"}, {{{"CUDA_VISIBLE_DEVICES", ""}}});
    CHECK(cuda.code == 2);
    CHECK_THAT(cuda.err, contains("error: --device cuda: this machine has none; "));
}

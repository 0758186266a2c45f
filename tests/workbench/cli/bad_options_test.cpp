// Values of options and arguments that mean nothing: exit code 2, one short line, and nothing is run or
// written.
// To add a case: a line in one of the tables.
#include "tiny_job.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "core/kernel/base/limits.h"
#include "core/workbench/cli/option_checks.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

const std::string huge(100'000, 'x');

struct Bad {
    Words words;
    std::string expected;  // in the first line of what is told
};

void check(const std::vector<Bad>& cases) {
    for (const auto& bad : cases) {
        std::string line;
        for (const auto& word : bad.words) line += " " + (word.size() > 100 ? "(huge)" : word);
        INFO("switchyard" << line);
        const auto outcome = test::run(bad.words);
        const auto first = outcome.err.substr(0, outcome.err.find('\n'));
        INFO(first.substr(0, 2000));
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK_THAT(first, contains(bad.expected));
        CHECK(first.size() < 700);  // what is quoted may stand there twice
        CHECK(outcome.err.size() < 3000);
    }
}

// What a check says of a value; "" where it is taken.
std::string said(const CLI::Validator& check, std::string value) { return check(value); }

}  // namespace

TEST_CASE("numbers behind options are taken within their range, and nothing else is") {
    const auto count = cli::whole_number(1, 9);
    for (const char* good : {"1", "9"}) CHECK(said(count, good).empty());
    for (const char* bad : {"0", "10", "-1", "", " 5", "5 ", "5.0", "1e0", "0x5", "five", "+5"})
        CHECK(said(count, bad) == "expected a whole number from 1 to 9, got '" + std::string(bad) + "'");
    CHECK(said(cli::whole_number(0), "9223372036854775807").empty());
    CHECK(said(cli::whole_number(0), "9223372036854775808") ==
          "expected a whole number from 0, got '9223372036854775808'");
    const auto share = cli::number(0.0, 1.0);
    for (const char* good : {"0", "1", "0.5", "5e-1", "-0", "1.0"}) CHECK(said(share, good).empty());
    for (const char* bad : {"nan", "inf", "-inf", "1.0000001", "-0.1", "", "1,0", "1e999", "0x1p-1", "a"})
        CHECK(said(share, bad) == "expected a number from 0 to 1, got '" + std::string(bad) + "'");
    CHECK(said(cli::number(0.0), "1e308").empty());
    CHECK(said(cli::number(0.0), "inf") == "expected a number from 0, got 'inf'");
    CHECK_THAT(said(count, huge), contains("... (100000 characters)'"));
    CHECK(said(count, huge).size() < 300);
    CHECK(said(count, "\x1b[2J") == "expected a whole number from 1 to 9, got '\\x1b[2J'");
}

TEST_CASE("an output is refused where it cannot be written, before there is anything to write") {
    const auto check = cli::output_file();
    const fs::path folder = temporary_dir("outputs");
    const auto at = [&](const char* name) { return (folder / name).string(); };
    std::ofstream(at("there")) << "x";
    fs::create_symlink("there", at("link"));
    fs::create_symlink("none/x", at("dangling"));
    for (const auto& good : {at("new"), at("there"), at("link"), std::string("-"), std::string("/dev/full")})
        CHECK(said(check, good).empty());
    CHECK(said(check, "") == "expected the name of a file");
    CHECK(said(check, folder.string()) == "cannot write " + folder.string() + ": it is a directory");
    for (const char* name : {"none/x", "dangling"})
        CHECK(said(check, at(name)) == "cannot write " + at(name) + ": No such file or directory");
    CHECK(said(check, at("there/x")) == "cannot write " + at("there/x") + ": Not a directory");
}

TEST_CASE("an option without its value, given twice, or with a value that it does not take is told") {
    const auto what_is_wrong = [](const Words& words) -> std::string {
        CLI::App app;
        std::string file, text;
        std::vector<std::string> sets;
        bool flag = false;
        app.add_option("FILE", file)->required();
        app.add_option("--text", text)->check(cli::whole_number(0));
        app.add_option("--set", sets)->expected(1)->take_all();
        app.add_flag("--flag", flag);
        app.add_option("--maybe", text)->expected(0, 1);
        try {
            app.parse(Words(words.rbegin(), words.rend()));
        } catch (const CLI::ParseError& error) {
            return cli::wrong_count(error, app, words);
        }
        return cli::empty_value(app, {"--may"});
    };
    CHECK(what_is_wrong({"a", "--text", "1", "--set", "a", "--set", "b", "--flag", "--maybe"}).empty());
    CHECK(what_is_wrong({"a", "--text"}) == "--text: its value is missing");
    CHECK(what_is_wrong({"a", "--set"}) == "--set: its value is missing");
    CHECK(what_is_wrong({"a", "--text", "1", "--text", "2"}) == "--text: is given 2 times; expected once");
    CHECK(what_is_wrong({"a", "--flag=x"}) == "--flag: takes no value, got 'x'");
    CHECK(what_is_wrong({""}) == "FILE: expected a value, got an empty text");
    CHECK(what_is_wrong({"a", "--set", "b", "--set", ""}) == "--set: expected a value, got an empty text");
    CHECK(what_is_wrong({"a", "--text", "x"}).empty());  // its own check says it
}

TEST_CASE("what is no command, no option or no argument is told in a short line") {
    check({
        {{""}, "error: there is no command \"\""},
        {{"trian"}, "there is no command \"trian\"; did you mean \"train\"?"},
        {{huge}, "... (100000 characters)\""},
        {{"a\x1b[31m"}, "there is no command \"a\\x1b[31m\""},
        {{"help", "help"}, "error: there is no command \"help\""},
        {{"plugins", huge}, "... (100000 characters)\""},
        {{"version", huge}, "unexpected argument \"xxx"},
        {{"version", "--" + huge}, "there is no option --xxx"},
        {{"version", "--json"}, "error: --json: its value is missing"},
        {{"version", "--json", "a", "--json", "b"}, "error: --json: is given 2 times; expected once"},
        {{"plugins", "doctor", "--fresh=x"}, "error: --fresh: takes no value, got 'x'"},
        {{"plugins", "info", huge}, "error: no plugin is called \"xxx"},
        {{"plugins", "info", "./none.so"}, "./none.so: error: there is no such file; expected the path of a"},
    });
}

TEST_CASE("an empty text stands for no file, no folder and no name") {
    for (const Words& command : std::vector<Words>{{"config", "check"},
                                                   {"config", "show"},
                                                   {"plan"},
                                                   {"diagnose"},
                                                   {"precision"},
                                                   {"data", "prepare"},
                                                   {"data", "stats"},
                                                   {"data", "show"},
                                                   {"tune"},
                                                   {"train"},
                                                   {"compare"}})
        check({{with(command, {""}), "error: CONFIG: expected a value, got an empty text"}});
    const std::string job = "configs/demo.toml";
    check({
        {{"model", ""}, "error: CONFIG|FOLDER: expected a value"},
        {{"generate", ""}, "error: RUN|FOLDER: expected a value"},
        {{"predict", "", "a"}, "error: RUN|FOLDER: expected a value"},
        {{"predict", "a", "--from", ""}, "error: --from: expected a value"},
        {{"predict", "a", "--from", "b", "--jsonl", ""}, "error: --jsonl: expected the name of a file"},
        {{"report", ""}, "error: RUN_DIR: expected a value"},
        {{"plugins", "info", ""}, "error: NAME: expected a value"},
        {{"plugins", "verify", ""}, "error: PLUGIN: expected a value"},
        {{"bench", ""}, "error: WHAT: expected a value"},
        {{"generate", job, "--weights", ""}, "error: --weights: expected a value"},
        {{"report", "a", "--steps", ""}, "error: --steps: expected a value"},
        {{"plan", job, "--host", ""}, "error: --host: expected a value"},
        {{"plan", job, "--saved", ""}, "error: --saved: expected a value"},
        {{"plan", job, "--set", ""}, "error: --set: expected a value"},
        {{"tune", job, "--slot", ""}, "error: --slot: expected a value"},
        {{"compare", job, "--vary", ""}, "error: --vary: expected a value"},
        {{"compare", job, "--arm", ""}, "error: --arm: expected a value"},
        {{"compare", job, "--lengths", ""}, "error: --lengths: expected a value"},
        {{"compare", job, "--loss-equivalence", ""}, "error: --loss-equivalence: expected a value"},
        {{"plugins", "verify", "naive", "--component", ""}, "error: --component: expected a value"},
        {{"plugins", "verify", "naive", "--filter", ""}, "error: --filter: expected a value"},
        {{"plugins", "verify", "naive", "--device", ""}, "error: --device: expected a value"},
        {{"bench", "attention", "--base", ""}, "error: --base: expected a value"},
        {{"bench", "attention", "--sweep", ""}, "error: --sweep: expected a value"},
        {{"bench", "attention", "--memory-budget", ""}, "error: --memory-budget: expected a value"},
        {{"train", job, "--run", ""}, "error: --run: expected a value"},
        {{"train", job, "--allow-change", ""}, "error: --allow-change: expected a value"},
        {{"config", "schema", "--markdown", ""}, "error: --markdown: expected the name of a file"},
        {{"config", "schema", "--markdown", "-", "--json", "-"},
         "error: --markdown -: --json - has the standard output; expected a file for one of them"},
        {{"version", "--json", ""}, "error: --json: expected the name of a file"},
    });
}

TEST_CASE("numbers that commands do not take are told with their range") {
    const std::string job = "configs/demo.toml";
    check({
        {{"generate", "a", "--max-tokens", "-5"}, "--max-tokens: expected a whole number from 0, got '-5'"},
        {{"generate", "a", "--temperature", "nan"}, "--temperature: expected a number from 0 to 1000"},
        {{"generate", "a", "--seed", "-1"}, "--seed: expected a whole number from 0, got '-1'"},
        {{"generate", "a", "--samples", "0"}, "--num-return: expected a whole number from 1 to 1000000"},
        {{"generate", "a", "--min-p", "1.1"}, "--min-p: expected a number from 0 to 1, got '1.1'"},
        {{"generate", "a", "--stop", ""}, "--stop: expected a value"},
        {{"generate", "a", "--top-k", "-1"}, "--top-k: expected a whole number from 0, got '-1'"},
        {{"generate", "a", "--top-p", "1.1"}, "--top-p: expected a number from 0 to 1, got '1.1'"},
        {{"compare", job, "--time", "0"}, "--time: expected a number from 0.001 to 1e+09, got '0'"},
        {{"compare", job, "--blocks", "10001"}, "--blocks: expected a whole number from 1 to 10000"},
        {{"compare", job, "--steps-per-block", "0"}, "--steps-per-block: expected a whole number from 1"},
        {{"compare", job, "--timeout", "x"}, "--timeout: expected a number from 0.001"},
        {{"compare", job, "--order-seed", "-1"}, "--order-seed: expected a whole number from 0"},
        {{"compare", job, "--seeds", "1001"}, "--seeds: expected a whole number from 1 to 1000"},
        {{"compare", job, "--operation", "sing"},
         "--operation: sing; expected step, epoch, forward, data or generate"},
        {{"compare", job, "--samples", "0"}, "--samples: expected a whole number from 1 to 100000000"},
        {{"compare", job, "--samples", "9"},
         "error: --samples is for passes, as those of --operation epoch; batch.size says how many a step "
         "has"},
        {{"compare", job, "--operation", "forward", "--seeds", "3"},
         "error: --seeds trains to the end, which --operation forward does not; expected --operation step"},
        {{"compare", job, "--steps", "0"}, "--steps: expected a whole number from 1 to 100000000"},
        {{"bench", "attention", "--dropout", "nan"}, "--dropout: expected a number from 0 to 1, got 'nan'"},
        {{"bench", "attention", "--time-budget", "0"}, "--time-budget: expected a number from 0.001"},
        {{"bench", "attention", "--threads", "4097"}, "--threads: expected a whole number from 1 to 4096"},
        {{"bench", "optimizer", "--clip", "-1"}, "--clip: expected a number from 0 to 1e+30, got '-1'"},
        {{"bench", "loss", "--z-loss", "inf"}, "--z-loss: expected a number from 0 to 1e+06, got 'inf'"},
        {{"precision", job, "--steps", "0"}, "--steps: expected a whole number from 1 to 1000000"},
        {{"plugins", "verify", "--drawn", "-1"}, "--drawn: expected a whole number from 0 to 1000000"},
        {{"plugins", "verify", "--show", "x"}, "--show: expected a whole number from 0 to 1000000"},
    });
}

TEST_CASE("an output that cannot be written is told before hours of work are lost with it") {
    const std::string job = "configs/demo.toml", none = "/no/such/folder/x";
    const auto told = [&](const std::string& option) {
        return "error: " + option + ": cannot write " + none + ": No such file or directory";
    };
    check({
        {{"compare", job, "--vary", "attention.backend=naive,torch", "--json", none}, told("--json")},
        {{"compare", job, "--vary", "attention.backend=naive,torch", "--html", none}, told("--html")},
        {{"compare", job, "--vary", "attention.backend=naive,torch", "--fastest", none}, told("--fastest")},
        {{"bench", "attention", "--json", none}, told("--json")},
        {{"tune", job, "--json", none}, told("--json")},
        {{"diagnose", job, "--json", none}, told("--json")},
        {{"precision", job, "--json", none}, told("--json")},
        {{"plugins", "verify", "--json", none}, told("--json")},
        {{"plan", job, "--save", none}, told("--save")},
        {{"report", "a", "--html", none}, told("--html")},
        {{"plan", job, "--json", "configs"}, "error: --json: cannot write configs: it is a directory"},
    });
}

TEST_CASE("an option of another benchmark is not passed over") {
    check({
        {{"bench", "attention", "--norm", "rms_norm"},
         "error: --norm is for bench normalization, overhead; bench attention does not use"},
        {{"bench", "loss", "--causal"}, "error: --causal is for bench attention, overhead; "},
        {{"bench", "activation", "--algorithm", "sgd"}, "error: --algorithm is for bench optimizer, "},
    });
}

TEST_CASE("long texts are quoted in part") {
    check({
        {{"compare", "configs/demo.toml", "--arm", huge}, "error: --arm 'xxx"},
        {{"compare", "configs/demo.toml", "--vary", huge}, "error: --vary 'xxx"},
        {{"bench", "attention", "--backends", huge}, "error: --backends xxx"},
        {{"bench", "attention", "--dtype", huge}, "error: --dtype xxx"},
        {{"bench", "attention", "--shape", huge}, "error: --shape xxx"},
        {{"bench", "attention", "--mask", huge}, "error: --mask xxx"},
        {{"bench", "normalization", "--norm", huge}, "error: --norm xxx"},
        {{"predict", huge, "a text"}, "xxx... (100000 characters)"},
        {{"report", huge}, "xxx... (100000 characters)"},
        {{"runs", huge}, "xxx... (100000 characters)"},
        {{"plan", huge}, "xxx... (100000 characters)"},
        {{"train", huge}, "xxx... (100000 characters)"},
        {{"model", huge}, "xxx... (100000 characters)"},
        {{"embed", huge, "a text"}, "xxx... (100000 characters)"},
        {{"init", huge}, "xxx... (100000 characters)"},
        {{"data", "stats", huge}, "xxx... (100000 characters)"},
        {{"config", "check", huge}, "xxx... (100000 characters)"},
        {{"config", "show", huge}, "xxx... (100000 characters)"},
        {{"plugins", "verify", huge}, "error: no plugin is called \"xxx"},
        {{"plugins", "verify", "naive", "--component", huge}, "error: no component xxx"},
        {{"plugins", "verify", "naive", "--device", huge}, "error: --device xxx"},
    });
}

TEST_CASE("an arm of a comparison reads no more of a line than JSON may have") {
    const fs::path folder = temporary_dir("arm");
    const auto input = (folder / "input").string();
    std::ofstream(input, std::ios::binary).put('{');
    fs::resize_file(input, base::limits::json_bytes + 100);  // NUL bytes that no disk holds
    RunOptions options;
    options.input = input;
    std::ofstream(input, std::ios::binary | std::ios::app) << "\n{\"type\":\"nonsense\"}\n";
    options.in_child = [] {
        const auto program = (build_dir() / "libexec/switchyard/switchyard-run").string();
        ::execl(program.c_str(), "switchyard", "arm", nullptr);
    };
    const auto outcome = test::run({}, options);
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("the line is longer than 67108864 bytes"));
    CHECK_THAT(outcome.out, contains("nonsense"));
    CHECK(outcome.out.size() < 1000);
}

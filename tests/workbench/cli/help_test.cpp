// What the program says to someone who does not know it yet, or mistypes. To add a command: one line in
// `all_commands` is enough.
#include "run_switchyard.h"

#include "json_schema.h"

#include "core/workbench/cli/commands.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

namespace {

std::vector<std::string> words(std::string_view path, const std::string& last) {
    std::vector<std::string> list;
    for (std::size_t begin = 0; begin <= path.size();) {
        const auto end = std::min(path.find(' ', begin), path.size());
        list.emplace_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    list.push_back(last);
    return list;
}

}  // namespace

TEST_CASE("help lists every command, on request or for lack of one") {
    const auto asked = run({"help"});
    CHECK(asked.code == 0);
    CHECK(asked.err.empty());
    for (const auto& command : cli::all_commands()) {
        CHECK_THAT(asked.out, contains(std::string(command.path)));
        CHECK_THAT(asked.out, contains(std::string(command.summary)));
    }
    CHECK(run({"-h"}).out == asked.out);
    CHECK(run({"--help"}).out == asked.out);
    const auto none = run({});
    CHECK(none.code == 2);
    CHECK(none.out.empty());
    CHECK(none.err == "error: expected a command\n\n" + asked.out);
}

TEST_CASE("every command has help with its examples") {
    for (const auto& command : cli::all_commands()) {
        INFO(command.path);
        const auto help = run(words(command.path, "-h"));
        CHECK(help.code == 0);
        CHECK(help.err.empty());
        CHECK_THAT(help.out, contains("Usage: switchyard " + std::string(command.path)));
        for (const auto& example : command.examples) CHECK_THAT(help.out, contains(std::string(example)));
    }
}

TEST_CASE("help COMMAND is the same as COMMAND -h, in both programs") {
    for (const char* path : {"version", "plugins list", "plan", "plugins verify"}) {
        INFO(path);
        auto asked = words(path, "");
        asked.pop_back();
        asked.insert(asked.begin(), "help");
        CHECK(run(asked).out == run(words(path, "-h")).out);
    }
}

TEST_CASE("a group of commands lists its own") {
    const auto help = run({"help", "plugins"});
    CHECK(help.code == 0);
    CHECK_THAT(help.out, contains("plugins doctor"));
    CHECK_THAT(help.out, !contains("config show"));
    const auto bare = run({"plugins"});
    CHECK(bare.code == 2);
    CHECK_THAT(bare.err, contains("error: expected one of its commands"));
}

TEST_CASE("a mistyped command gets the one that was meant") {
    const auto check = [](const std::vector<std::string>& arguments, const std::string& text) {
        const auto outcome = run(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK(outcome.err == text);
    };
    check({"plann", "x.toml"},
          "error: there is no command \"plann\"; did you mean \"plan\"?\n`switchyard help` lists all "
          "commands\n");
    check({"plugins", "doktor"},
          "error: there is no command \"plugins doktor\"; did you mean \"plugins doctor\"?\n"
          "`switchyard help plugins` lists all commands\n");
    check({"frobnicate"},
          "error: there is no command \"frobnicate\"\n`switchyard help` lists all commands\n");
}

TEST_CASE("a mistyped option gets the one that was meant") {
    const auto check = [](const std::vector<std::string>& arguments, const std::string& text) {
        const auto outcome = run(arguments);
        CHECK(outcome.code == 2);
        CHECK(outcome.out.empty());
        CHECK(outcome.err == text);
    };
    check({"config", "show", "configs/demo.toml", "--origins"},
          "error: there is no option --origins; did you mean --origin?\n`switchyard config show -h` shows "
          "its options\n");
    check({"plan", "configs/demo.toml", "--hots", "h100"},
          "error: there is no option --hots; did you mean --host?\n`switchyard plan -h` shows its options\n");
    check({"config", "check"}, "error: CONFIG is required\n`switchyard config check -h` shows its options\n");
    check({"config", "check", "configs/demo.toml", "more"},
          "error: unexpected argument \"more\"\n`switchyard config check -h` shows its options\n");
}

TEST_CASE("the version names LibTorch, and the commit that was built") {
    const auto text = run({"--version"});
    CHECK(text.code == 0);
    CHECK(text.out == run({"version"}).out);
    CHECK_THAT(text.out, contains("built with LibTorch 2."));
    const auto json = run_json({"version"});
    CHECK(JsonSchema(source_dir() / "docs/schema/version.json").faults(json) == std::vector<std::string>{});
    // 40 digits of sha1, 64 of sha256; a build from an archive has none.
    const auto commit = json["commit"].get<std::string>();
    const auto digits = commit.find_first_not_of("0123456789abcdef");
    const auto length = digits == std::string::npos ? commit.size() : digits;
    CHECK((length == 0 || length == 40 || length == 64));
    CHECK((commit.substr(length).empty() || commit.substr(length) == "-changed"));
    if (!commit.empty()) CHECK_THAT(text.out, contains(" (commit " + commit + "), built with"));
}

TEST_CASE("there are no colors where the output is no terminal") {
    CHECK(run({"plugins", "list"}).out.find('\033') == std::string::npos);
    CHECK(run({"plugins", "list", "--no-color"}).code == 0);
    CHECK(run({"--no-color", "plugins", "list"}).code == 0);
}

// A run that somebody else made: what its configuration names is code, and runs only where the user said so.
// To add a command: its line in `refusing`, `running_none` or `reading_none`; the test fails without one.
#include <sys/types.h>

#include <csignal>
#include <fstream>
#include <map>
#include <set>

#include "core/workbench/cli/commands.h"

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A run whose configuration names a folder with a plugin that leaves a file there when its code runs.
class ForeignRun {
public:
    ForeignRun() : plugins_(temporary_dir("plugins")) {
        fs::copy_file(build_dir() / "tests/support/plugins/bad/libtest_leaves_a_daemon.so", library());
        const auto job = bytes_of(job_.file("job.toml"));
        job_.write("own.toml", job + "\n[plugins]\npaths = [\"" + folder() + "\"]\n");
        const auto outcome =
            run({"train", job_.file("own.toml"), "--run", path(), "--set", "train.steps=1"}, fresh());
        INFO(outcome.err);
        REQUIRE(outcome.code == 0);  // a configuration of one's own needs no --trust
        REQUIRE(code_ran());
    }

    std::string path() const { return job_.file("run"); }
    std::string config() const { return path() + "/config.toml"; }
    std::string folder() const { return plugins_.string(); }
    std::string library() const { return (plugins_ / "libx.so").string(); }
    const TinyJob& job() const { return job_; }

    ForeignRun(const ForeignRun&) = delete;
    ForeignRun& operator=(const ForeignRun&) = delete;
    ~ForeignRun() { code_ran(); }

    // Whether code of the plugin ran since it was asked last. What it left behind, where it was allowed to
    // run, is ended.
    bool code_ran() const {
        const std::string file = library() + ".pid";
        std::ifstream left(file);
        for (pid_t process = 0; left >> process;) ::kill(process, SIGKILL);
        return fs::remove(file);
    }

    // No plugin has been probed yet.
    static RunOptions fresh() { return {{{"SWITCHYARD_CACHE", temporary_dir("cache").string()}}}; }

private:
    TinyJob job_;
    fs::path plugins_;
};

void check_refused_plugins(const ForeignRun& foreign, const Words& words) {
    const auto outcome = run(words, ForeignRun::fresh());
    INFO(words[0] << ": " << outcome.err);
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains("error: plugins.paths: the plugins of " + foreign.folder() +
                                     " are code, and this configuration came with a run\n"));
    CHECK_THAT(outcome.err, contains("--trust lets them run"));  // behind the rank, of several
    CHECK_FALSE(foreign.code_ran());
}

std::string other_folder(const ForeignRun& foreign) { return foreign.job().file("other"); }

// Of each command that would run plugins of a run or a configuration: where it is given a foreign one.
// "writes" is a run of one's own, of a model that generates.
std::map<std::string, std::vector<Words>> refusing(const ForeignRun& foreign) {
    const auto path = foreign.path(), config = foreign.config(), other = other_folder(foreign),
               own = foreign.job().file("job.toml"), rows = foreign.job().file("rows.tsv"),
               writes = foreign.job().file("writes");
    return {
        {"predict", {{"predict", path, "a warm film"}}},
        {"evaluate", {{"evaluate", path, rows}}},
        {"embed", {{"embed", path, "a warm film"}}},
        {"generate", {{"generate", path}, {"generate", config}, {"generate", writes, "--draft", path}}},
        {"quantize", {{"quantize", path, "--method", "dynamic", "--out", other}}},
        {"plan", {{"plan", config}}},
        {"diagnose", {{"diagnose", config}}},
        {"precision", {{"precision", config}}},
        {"profile", {{"profile", config}}},
        {"data stats", {{"data", "stats", config}}},
        {"data show", {{"data", "show", config}}},
        {"tune", {{"tune", config}}},
        {"fit", {{"fit", config}}},
        {"bench inference", {{"bench", "inference", path}, {"bench", "inference", config}}},
        {"compare", {{"compare", config, "--vary", "attention.backend=naive,torch"}}},
        {"train", {{"train", config, "--run", other}, {"train", config, "--run", path, "--resume"}}},
        {"launch", {{"launch", "-n", "2", "train", config, "--run", other}}},
        {"plugins doctor", {{"plugins", "doctor", config}}},
        {"plugins lock", {{"plugins", "lock", config, "--output", other}}},
        {"plugins verify", {{"plugins", "verify", "--config", config}}},
        {"plugins bisect", {{"plugins", "bisect", config, own}, {"plugins", "bisect", own, config}}},
    };
}

// Of each command that reads a run or a configuration and runs no plugin.
std::map<std::string, Words> running_none(const ForeignRun& foreign) {
    const auto path = foreign.path(), config = foreign.config();
    return {
        {"config show", {"config", "show", config}},
        {"config check", {"config", "check", config}},
        {"model", {"model", config}},
        {"report", {"report", path}},
        {"runs", {"runs", foreign.job().file("")}},
        {"data prepare",
         {"data", "prepare", config, "--set", "task.kind=masked_lm", "--out", foreign.job().file("store")}},
        {"data train-tokenizer", {"data", "train-tokenizer", config, "--out", foreign.job().file("learnt")}},
        {"init",
         {"init", foreign.job().file("rows.tsv"), "--from", path + "/model", "--out",
          foreign.job().file("begun.toml")}}};
}

// These read neither, or of a run only its weights.
const std::set<std::string> reading_none{
    "bench",       "bench ranks",     "compare self-test", "config schema",   "data fetch",
    "data list",   "merge",           "plugins info",      "plugins install", "plugins list",
    "plugins new", "plugins new-key", "plugins remove",    "plugins sign",    "plugins verify-signature",
    "version"};

}  // namespace

TEST_CASE("no command runs a plugin that a run's configuration names, and says what to do") {
    const ForeignRun foreign;
    const auto writes = foreign.job().write(
        "writes.toml",
        "[model]\ntype = \"gpt\"\nlayers = 1\nhidden_size = 8\nheads = 1\nintermediate_size = 8\n"
        "vocab_size = 261\nmax_positions = 8\n[task]\nkind = \"causal_lm\"\n[data]\ntrain = [\"rows.tsv\"]\n"
        "tokenizer = \"bytes\"\n[train]\nsteps = 1\n" +
            torch_slots("0.01"));
    REQUIRE(run({"train", writes, "--run", foreign.job().file("writes")}).code == 0);
    for (const auto& [command, all] : refusing(foreign)) {
        for (const auto& words : all) check_refused_plugins(foreign, words);
    }
    CHECK_FALSE(fs::exists(other_folder(foreign)));
}

TEST_CASE("of each command it is known whether a run's configuration could bring it code") {
    const ForeignRun foreign;
    const auto refuse = refusing(foreign);
    const auto harmless = running_none(foreign);
    std::set<std::string> unknown;
    for (const auto& command : switchyard::cli::all_commands()) {
        const std::string path(command.path);
        if (!refuse.contains(path) && !harmless.contains(path) && !reading_none.contains(path))
            unknown.insert(path);
    }
    CHECK(unknown == std::set<std::string>{});
}

TEST_CASE("a configuration that includes a run's is no better, nor is one reached by a link") {
    const ForeignRun foreign;
    foreign.job().write("including.toml", "include = [\"run/config.toml\"]\n");
    check_refused_plugins(foreign, {"plan", foreign.job().file("including.toml")});
    fs::create_symlink(foreign.config(), foreign.job().file("link.toml"));
    check_refused_plugins(foreign, {"plan", foreign.job().file("link.toml")});
}

TEST_CASE("a run's plugins run with --trust, and from places that the user named") {
    const ForeignRun foreign;
    const Words predict{"predict", foreign.path(), "a warm film"};
    const auto check_runs = [&](const Words& more, const std::string& plugin_path) {
        auto words = predict;
        words.insert(words.end(), more.begin(), more.end());
        auto options = ForeignRun::fresh();
        if (!plugin_path.empty()) options.environment["SWITCHYARD_PLUGIN_PATH"] = plugin_path;
        const auto outcome = run(words, options);
        INFO(outcome.err);
        CHECK(outcome.code == 0);
        CHECK(foreign.code_ran());
    };
    check_runs({"--trust"}, "");
    check_runs({}, foreign.folder());
    check_runs({"--set", "plugins.paths=[\"" + foreign.library() + "\"]"}, "");
    const auto beside = run(predict, {{{"SWITCHYARD_PLUGIN_PATH", foreign.folder() + "/.."}}});
    CHECK(beside.code == 2);  // plugins are not looked for in the folders of a folder
}

TEST_CASE("a plugin that a configuration would refuse does not run where that has a mistake") {
    const ForeignRun foreign;
    const Words plan{"plan", foreign.job().file("job.toml")};
    const auto planned = [&](const Words& more) {
        auto options = ForeignRun::fresh();
        options.environment["SWITCHYARD_PLUGIN_PATH"] = foreign.folder();
        return run(with(plan, more), options);
    };
    CHECK(planned({}).code == 0);
    CHECK(foreign.code_ran());
    check_refused(planned({"--set", "plugins.require=signed", "--set", "optimizer.lrr=1"}),
                  {"--set #2: error: optimizer.lrr: unknown key; did you mean optimizer.lr?"});
    CHECK_FALSE(foreign.code_ran());
}

TEST_CASE("what runs no code of a run needs no trust") {
    const ForeignRun foreign;
    for (const auto& [command, words] : running_none(foreign)) {
        const auto outcome = run(words, ForeignRun::fresh());
        INFO(command << ": " << outcome.err);
        CHECK(outcome.code == 0);
        CHECK_FALSE(foreign.code_ran());
    }
}

TEST_CASE("a run's configuration cannot bring arms of its own to compare, which are programs") {
    const TinyJob job;
    const auto made = job.trained("run", {"train.steps=1"});
    REQUIRE(made.code == 0);
    const auto config = job.file("run/config.toml"), trace = job.file("ran");
    job.write("run/config.toml",
              bytes_of(config) + "\n[[arm]]\nset = []\n[[arm]]\nprogram = [\"touch\", \"" + trace + "\"]\n");
    const Words words{"compare", config, "--blocks", "2", "--steps-per-block", "1", "--time", "0.5"};
    const auto refused = run(words);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, contains("error: [[arm]]: it sets "));
    CHECK_THAT(refused.err, contains("--trust lets it run"));
    CHECK_FALSE(fs::exists(trace));
    auto trusted = words;
    trusted.emplace_back("--trust");
    CHECK(run(trusted).code != 2);
    CHECK(fs::exists(trace));
}

TEST_CASE(
    "a run's configuration cannot bring a program to log with, and what does not train needs no trust") {
    const TinyJob job;
    const auto trace = job.file("ran");
    job.trained("run", {"train.steps=1", "log.command=[\"touch\", \"" + trace + "\"]"});
    REQUIRE(fs::remove(trace));
    const auto config = job.file("run/config.toml");
    const Words words{"train", config, "--run", job.file("other"), "--set", "train.steps=1"};
    const auto refused = run(words);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err,
               contains(config + ":") && contains(": error: log.command: it runs touch " + trace));
    CHECK_THAT(refused.err, contains("--trust lets it run"));
    CHECK_FALSE(fs::exists(job.file("other")));
    CHECK(run({"predict", job.file("run"), "a warm film"}).code == 0);
    CHECK_FALSE(fs::exists(trace));
    auto without = words;
    without.insert(without.end(), {"--set", "log.command=[]"});
    CHECK(run(without).code == 0);
    CHECK_FALSE(fs::exists(trace));
    auto trusted = words;
    trusted[3] = job.file("third");
    trusted.emplace_back("--trust");
    CHECK(run(trusted).code == 0);
    CHECK(fs::exists(trace));
}

TEST_CASE("each of the files that a run leaves marks its folder as a run's") {
    const ForeignRun foreign;
    for (const char* mark : {"record.json", "plan.json", "metrics.jsonl", "summary.json", "checkpoints"}) {
        INFO(mark);
        const fs::path folder = temporary_dir("part_of_a_run");
        fs::copy_file(foreign.config(), folder / "config.toml");
        REQUIRE(fs::exists(fs::path(foreign.path()) / mark));
        fs::create_directory(folder / mark);
        check_refused_plugins(foreign, {"plan", (folder / "config.toml").string()});
    }
}

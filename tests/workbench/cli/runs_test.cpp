// `switchyard runs` on folders that are written here: what is told of each run, what differs between them,
// and what is wrong with them. Folders of real trainings are in jobs/runs_command_test.cpp.
// To add a case: a folder in `Folders`, and what must be said of it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "balanced.h"
#include "json_schema.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;
using test::run;

using Json = nlohmann::json;

namespace {

const std::string markup = "<script>alert('x')</script>&\"";

std::string config_text(const std::string& more) {
    return "[model]\ntype = \"bert\"\nlayers = 2\n[task]\nkind = \"classification\"\nlabels = [\"bad\", "
           "\"good\"]\n" +
           more;
}

std::string evaluation(int step, double loss, double accuracy) {
    return Json{{"step", step}, {"eval_loss", loss}, {"eval_accuracy", accuracy}}.dump() + "\n";
}

std::string training(int step, double loss) {
    return Json{{"step", step}, {"loss", loss}, {"samples_per_second", 50.0}}.dump() + "\n";
}

std::string summary_text(const std::string& status, int steps) {
    return Json{{"status", status}, {"steps", steps}, {"train_loss", 0.25}, {"samples_per_second", 40.5}}
        .dump();
}

// A folder of runs; each was written an hour before the one that is added next.
class Folders {
public:
    Folders() : folder_(temporary_dir("runs")) {}

    void add(const std::string& name, const std::string& config, const std::string& metrics,
             const std::string& summary) {
        const auto path = folder_ / name;
        fs::create_directories(path);
        write(name + "/config.toml", config);
        write(name + "/metrics.jsonl", metrics);
        if (!summary.empty()) write(name + "/summary.json", summary);
        const auto time = fs::file_time_type::clock::now() - std::chrono::hours(1000 - count_++);
        for (const auto& entry : fs::directory_iterator(path)) fs::last_write_time(entry, time);
    }
    void add(const std::string& name, const std::string& config) {
        add(name, config, training(2, 0.5), summary_text("finished", 2));
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    std::string path() const { return folder_.string(); }
    std::string file(const std::string& name) const { return (folder_ / name).string(); }

    Json listed(const Words& more = {}) const {
        Words words{"runs", path()};
        words.insert(words.end(), more.begin(), more.end());
        const auto json = run_json(words);
        CHECK(schema_faults("runs.json", json) == Words{});
        return json;
    }

private:
    fs::path folder_;
    int count_ = 0;
};

Words names_of(const Json& list) {
    Words names;
    for (const auto& one : list["runs"]) names.push_back(one["name"]);
    return names;
}

Json run_named(const Json& list, const std::string& name) {
    for (const auto& one : list["runs"]) {
        if (one["name"] == name) return one;
    }
    FAIL("no run " << name);
    return {};
}

// Holds the lock of a run as the process does that writes it.
class Held {
public:
    explicit Held(const std::string& folder)
        : file_(::open((folder + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        REQUIRE(file_ >= 0);
        REQUIRE(::flock(file_, LOCK_EX | LOCK_NB) == 0);
        REQUIRE(::write(file_, "1\nhere\ntrain\n", 13) == 13);
    }
    ~Held() { ::close(file_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

private:
    int file_;
};

}  // namespace

TEST_CASE("runs are listed with what is told of them, and only with the keys that differ") {
    Folders runs;
    runs.add("a",
             config_text("[optimizer]\nlr = 1e-3\n[train]\neval_every = 1\nkeep_best = \"eval.accuracy\"\n"),
             training(1, 0.75) + evaluation(1, 0.5, 0.75) + training(4, 0.5) + evaluation(4, 0.25, 0.5),
             summary_text("finished", 4));
    runs.add("sweep/b",
             config_text("[optimizer]\nlr = 2e-3\n[train]\neval_every = 1\nkeep_best = \"eval.accuracy\"\n"),
             training(3, 0.125), summary_text("stopped", 3));
    fs::create_directories(runs.file("empty/folder"));
    runs.write("compare.html", "no run");

    const auto list = runs.listed();
    CHECK(list["folder"] == runs.path());
    CHECK(list["differing"] == Json{"optimizer.lr"});
    CHECK(list["metrics"] == Json{"loss", "accuracy"});
    CHECK(names_of(list) == Words{"sweep/b", "a"});
    auto first = run_named(list, "a");
    CHECK(first.erase("written") == 1);
    CHECK(
        first ==
        Json{{"name", "a"},
             {"folder", runs.file("a")},
             {"state", "finished"},
             {"ranks", nullptr},
             {"steps", 4},
             {"train_loss", 0.25},
             {"samples_per_second", 40.5},
             {"keep_best", "eval.accuracy"},
             {"scores",
              {{"loss", {{"last", {{"step", 4}, {"value", 0.25}}}, {"best", {{"step", 4}, {"value", 0.25}}}}},
               {"accuracy",
                {{"last", {{"step", 4}, {"value", 0.5}}}, {"best", {{"step", 1}, {"value", 0.75}}}}}}},
             {"config", {{"optimizer.lr", "0.001"}}},
             {"problems", Json::array()}});
    const auto second = run_named(list, "sweep/b");
    CHECK(second["state"] == "stopped");
    CHECK(second["config"] == Json{{"optimizer.lr", "0.002"}});
    CHECK(second["scores"] == Json::object());

    const auto text = run({"runs", runs.path()});
    CHECK(text.code == 0);
    CHECK(text.err.empty());
    for (const char* part : {": 2 runs: 1 finished, 1 stopped\n", "sweep/b", "optimizer.lr", "0.002",
                             "0.5000, best 0.7500 at step 1"})
        CHECK_THAT(text.out, contains(part));
    for (const char* part : {"model.layers", "train.keep_best", "compare.html", "empty"})
        CHECK_THAT(text.out, !contains(part));
}

TEST_CASE("in a pipe each run is a line, however wide") {
    Folders runs;
    const std::string name(70, 'n');
    for (const std::string digit : {"1", "2"})
        runs.add(name + digit,
                 config_text("[optimizer]\nlr = " + digit + "e-3\nweight_decay = 0." + digit +
                             "\n[train]\nsteps = 10" + digit + "\nlog_every = " + digit + "\n"));
    const auto text = run({"runs", runs.path()});
    CHECK(text.code == 0);
    CHECK(std::ranges::count(text.out, '\n') == 4);  // what there is, titles, runs
    CHECK_THAT(text.out, contains("train.log_every"));
}

TEST_CASE("where several ranks trained a run, their number stands beside each") {
    const auto by_ranks = [](const char* ranks) {
        return R"({"status": "finished", "steps": 3, "ranks": )" + std::string(ranks) + "}";
    };
    Folders runs;
    runs.add("one", config_text(""), training(3, 0.5), by_ranks("1"));
    CHECK(run_named(runs.listed(), "one")["ranks"] == 1);
    CHECK_THAT(run({"runs", runs.path()}).out, !contains("ranks"));
    runs.add("four", config_text(""), training(3, 0.5), by_ranks("4"));
    runs.add("odd", config_text(""), training(3, 0.5), by_ranks("-7"));
    const auto list = runs.listed({"--html", runs.file("page.html")});
    CHECK(run_named(list, "four")["ranks"] == 4);
    CHECK(run_named(list, "odd")["ranks"] == nullptr);
    CHECK_THAT(run({"runs", runs.path()}).out, contains("ranks"));
    std::ifstream page(runs.file("page.html"));
    CHECK_THAT(std::string((std::istreambuf_iterator<char>(page)), {}), contains("Ranks"));
}

TEST_CASE("one run alone is listed, too, and nothing differs") {
    Folders runs;
    runs.add("a", config_text(""));
    const auto list = run_json({"runs", runs.file("a")});
    CHECK(names_of(list) == Words{runs.file("a")});
    CHECK(list["differing"] == Json::array());
    CHECK(list["runs"][0]["config"] == Json::object());
}

TEST_CASE("sorted by a score the best comes first, whichever way that score gets better") {
    Folders runs;
    runs.add("good", config_text(""), evaluation(1, 0.5, 0.9) + evaluation(2, 0.9, 0.1), "");
    runs.add("unknown", config_text(""));
    runs.add("sure", config_text(""), evaluation(1, 0.25, 0.75), "");
    runs.add("poor", config_text(""), evaluation(1, 0.75, 0.5), "");
    CHECK(names_of(runs.listed()) == Words{"poor", "sure", "unknown", "good"});
    for (const char* name : {"accuracy", "eval.accuracy"})
        CHECK(names_of(runs.listed({"--sort", name})) == Words{"good", "sure", "poor", "unknown"});
    CHECK(names_of(runs.listed({"--sort", "eval.loss"})) == Words{"sure", "good", "poor", "unknown"});

    const auto check_refused = [&](const std::string& name, const std::string& text) {
        const auto refused = run({"runs", runs.path(), "--sort", name});
        CHECK(refused.code == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err == "error: --sort: no run has a score " + name + text + "\n");
    };
    check_refused("eval.acuracy", "; did you mean accuracy?");
    check_refused("mcc", "; expected one of loss, accuracy");
}

TEST_CASE("a broken run is listed with what is wrong, and the others as ever") {
    Folders runs;
    runs.add("fine", config_text("[optimizer]\nlr = 1e-3\n"));
    runs.add("cut", config_text("[optimizer]\nlr = 2e-3\n"), training(1, 0.5), R"({"status": "fini)");
    runs.add("strange", "[model\nlayers = 3\n");
    fs::create_directories(runs.file("folder/summary.json"));
    const auto list = runs.listed();
    CHECK(list["differing"] == Json{"optimizer.lr"});
    CHECK(run_named(list, "fine")["state"] == "finished");
    CHECK(run_named(list, "fine")["problems"] == Json::array());
    const auto check_broken = [&](const std::string& name, const std::string& state, const Words& parts) {
        INFO(name);
        const auto one = run_named(list, name);
        CHECK(one["state"] == state);
        REQUIRE(!one["problems"].empty());
        for (const auto& part : parts) CHECK_THAT(one["problems"][0].get<std::string>(), contains(part));
    };
    check_broken("cut", "broken", {runs.file("cut") + "/summary.json:1:", "error: not valid JSON"});
    check_broken("strange", "finished", {runs.file("strange") + "/config.toml:1:", "error: "});
    check_broken("folder", "broken", {runs.file("folder") + "/summary.json: error: "});
    const auto text = run({"runs", runs.path()});
    CHECK(text.code == 0);
    CHECK_THAT(text.out, contains("cut/summary.json:1:"));
}

TEST_CASE("a run without an end is running while its folder is held, and was interrupted else") {
    Folders runs;
    runs.add("run", config_text(""), training(1, 0.75) + training(3, 0.5), "");
    auto one = run_named(runs.listed(), "run");
    CHECK(one["state"] == "interrupted");
    CHECK(one["steps"] == 3);
    CHECK(one["train_loss"] == 0.5);
    CHECK(one["samples_per_second"] == 50.0);
    {
        const Held held(runs.file("run"));
        CHECK(run_named(runs.listed(), "run")["state"] == "running");
    }
    // Killed: the file still names the process.
    CHECK(run_named(runs.listed(), "run")["state"] == "interrupted");

    // What a process says of its end does not hold for one that went on after it.
    runs.write("run/summary.json", summary_text("stopped", 3));
    CHECK(run_named(runs.listed(), "run")["state"] == "stopped");
    runs.write("run/metrics.jsonl", training(1, 0.75) + training(3, 0.5) + training(5, 0.125));
    one = run_named(runs.listed(), "run");
    CHECK(one["state"] == "interrupted");
    CHECK(one["steps"] == 5);
    CHECK(one["train_loss"] == 0.125);
}

TEST_CASE("a failed run is listed with its error") {
    Folders runs;
    runs.add("run", config_text(""), training(1, 0.75),
             R"({"status": "failed", "steps": 1, "error": "the loss is not finite"})");
    const auto one = run_named(runs.listed(), "run");
    CHECK(one["state"] == "failed");
    CHECK(one["problems"] == Json{"the loss is not finite"});
}

TEST_CASE("what was changed when a run was gone on with counts") {
    Folders runs;
    runs.add("a", config_text("[optimizer]\nlr = 1e-3\n"));
    runs.add("b", config_text("[optimizer]\nlr = 1e-3\n"));
    CHECK(runs.listed()["differing"] == Json::array());
    runs.write("b/changes.jsonl",
               Json{{"step", 2}, {"key", "optimizer.lr"}, {"before", "0.001"}, {"now", "0.004"}}.dump() +
                   "\n" + Json{{"step", 2}, {"key", "cpu"}, {"before", "x"}, {"now", "y"}}.dump() + "\n");
    const auto list = runs.listed();
    CHECK(list["differing"] == Json{"optimizer.lr"});
    CHECK(run_named(list, "b")["config"]["optimizer.lr"] == "0.004");
}

TEST_CASE("the page has each run, and what is written in names and values stays text") {
    Folders runs;
    const std::string name = "<b>run&";
    runs.add(
        name, config_text("[data]\ntext_column = '" + std::string("<script>\"&") + "'\n"),
        Json{{"step", 1}, {"eval_loss", 0.5}, {"eval_" + markup, 0.5}, {"eval_accuracy", 0.5}}.dump() + "\n",
        Json{{"status", markup}, {"steps", 1}, {"error", markup}}.dump());
    runs.add("b", config_text("[data]\ntext_column = '" + std::string(600, 'x') + "'\n"));
    const auto page = runs.file("page.html");
    const auto outcome = run({"runs", runs.path(), "--html", page, "--sort", markup});
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto html = bytes_of(page);
    CHECK(unbalanced(html) == "");
    CHECK_THAT(html, contains("<code>&lt;b&gt;run&amp;</code>"));
    CHECK_THAT(html, contains("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot;"));
    CHECK_THAT(html, contains("data-label=\"data.\u200btext_\u200bcolumn\""));
    CHECK_THAT(html, contains("xxxxx…</code>"));
    for (const char* part : {"<script", "<b>", "src=", "href=", "data-label=\"model.\u200blayers\""})
        CHECK_THAT(html, !contains(part));
}

TEST_CASE("a page of very many runs says what it leaves out") {
    Folders runs;
    for (int i = 0; i < 300; ++i)
        runs.add("run" + std::to_string(i),
                 config_text("[run]\nseed = " + std::to_string(i) + "\n[data]\ntext_column = '" +
                             std::string(200, '&') + std::to_string(i) + "'\n"));
    const auto page = runs.file("page.html");
    REQUIRE(run({"runs", runs.path(), "--html", page}).code == 0);
    const auto html = bytes_of(page);
    CHECK(html.size() < 500'000);
    CHECK(unbalanced(html) == "");
    CHECK_THAT(html, contains("more runs are left out"));
    CHECK_THAT(html, contains("300 runs: 300 finished"));
}

TEST_CASE("where there is no run, that is said") {
    const auto check_refused = [](const std::string& folder, const std::string& why) {
        for (const Words& more : {Words{}, Words{"--json", "-"}}) {
            Words words{"runs", folder};
            words.insert(words.end(), more.begin(), more.end());
            const auto refused = run(words);
            CHECK(refused.code == 2);
            CHECK(refused.out.empty());
            CHECK(refused.err == folder + ": error: " + why +
                                     "; expected a folder of runs, as `switchyard train --run runs/NAME` "
                                     "leaves them\n");
        }
    };
    Folders runs;
    runs.write("file", "");
    check_refused(runs.path(), "holds no run, nor do its folders and theirs");
    check_refused(runs.file("none"), "there is no such folder");
    check_refused(runs.file("file"), "is not a folder");
    CHECK(run({"runs"}).err.starts_with("runs: error: there is no such folder"));
}

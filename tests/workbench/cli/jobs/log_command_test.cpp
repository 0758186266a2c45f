// Programs that get what a training writes down: they copy it, end too early, never read, are not there. Each
// is a shell script. What they got is held against metrics.jsonl and summary.json.
#include <csignal>
#include <sstream>

#include "count_of.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// A job whose [log] names the script of that text, beside it.
class LoggedJob {
public:
    explicit LoggedJob(const std::string& script, const std::string& more = "") {
        job_.write("log it.sh", "#!/bin/sh\n" + script + "\n");
        fs::permissions(job_.file("log it.sh"), fs::perms::owner_all);
        job_.write("job.toml", bytes_of(job_.file("job.toml")) + "\n[log]\ncommand = [\"./log it.sh\", \"" +
                                   job_.file("copy") + "\"]\n" + more);
    }

    void make_labels_long(std::size_t length) const {
        const std::string tail(length, 'x');
        for (const auto& [file, end] : {std::pair("job.toml", '"'), std::pair("rows.tsv", '\n')}) {
            auto text = bytes_of(job_.file(file));
            for (const std::string label : {"bad", "good"}) {
                const auto written = (end == '"' ? "\"" : "\t") + label;
                for (auto at = text.find(written + end); at != std::string::npos;
                     at = text.find(written + end, at))
                    text.insert(at + written.size(), tail);
            }
            job_.write(file, text);
        }
    }
    const TinyJob& job() const { return job_; }
    fs::path run_folder() const { return job_.run_folder("run"); }
    std::string script() const { return job_.file("log it.sh"); }
    std::vector<std::string> copied() const { return lines_of(job_.file("copy")); }

    static std::vector<std::string> lines_of(const fs::path& file) {
        std::istringstream text(bytes_of(file));
        std::vector<std::string> lines;
        for (std::string line; std::getline(text, line);) lines.push_back(line);
        return lines;
    }

private:
    TinyJob job_;
};

std::vector<std::string> inner(std::vector<std::string> lines) {
    REQUIRE(lines.size() >= 2);
    return {lines.begin() + 1, lines.end() - 1};
}

std::size_t warnings_in(const std::string& text) { return count_of(text, "warning: log.command"); }

}  // namespace

TEST_CASE("a program gets the lines of metrics.jsonl between what run it is and the summary") {
    const LoggedJob logged("cat >>\"$1\"; echo all read; echo '\033[2Jand told' >&2");
    const auto outcome = logged.job().trained("run", {"train.eval_every=4"});
    CHECK(warnings_in(outcome.err) == 0);
    CHECK_THAT(outcome.err + outcome.out, !contains("all read") && !contains("and told"));
    CHECK(bytes_of(logged.run_folder() / "log_output.txt") == "all read\n\033[2Jand told\n");
    const auto lines = logged.copied();
    CHECK(inner(lines) == LoggedJob::lines_of(logged.run_folder() / "metrics.jsonl"));
    const auto run = nlohmann::json::parse(lines.front()).at("run");
    CHECK(run["folder"] == logged.run_folder().string());
    CHECK(run["step"] == 0);
    CHECK(run["config"]["train.steps"] == 8);
    CHECK(run["config"]["task.labels"] == nlohmann::json{"bad", "good"});
    CHECK_THAT(run["command"].get<std::string>(), contains("train.eval_every=4"));
    CHECK(nlohmann::json::parse(lines.back()) ==
          nlohmann::json{{"summary", json_of(logged.run_folder() / "summary.json")}});
}

TEST_CASE("a run that goes on is told as one, and only its own lines come") {
    const LoggedJob logged("cat >>\"$1\"");
    logged.job().trained("run", {"train.steps=4"});
    fs::remove(logged.job().file("copy"));
    logged.job().trained("run", {}, {"--resume"});
    const auto lines = logged.copied();
    CHECK(nlohmann::json::parse(lines.front())["run"]["step"] == 4);
    const auto all = LoggedJob::lines_of(logged.run_folder() / "metrics.jsonl");
    const auto own = inner(lines);
    REQUIRE(own.size() < all.size());
    CHECK(own == std::vector<std::string>(all.end() - static_cast<std::ptrdiff_t>(own.size()), all.end()));
    CHECK(nlohmann::json::parse(own.front())["step"] == 5);
    // Without the program the run goes on, too: it changes no number.
    logged.job().trained("run", {"train.steps=10", "log.command=[]"}, {"--resume"});
}

TEST_CASE("a program that ends too early is one warning, and training goes on") {
    const LoggedJob logged("exit 3");
    const auto outcome = logged.job().trained("run");
    INFO(outcome.err);
    CHECK(warnings_in(outcome.err) == 1);
    CHECK_THAT(outcome.err, contains("warning: log.command: " + logged.script() + " ended with exit code 3"));
    CHECK_THAT(outcome.err, contains("log_output.txt"));
    CHECK(json_of(logged.run_folder() / "summary.json")["status"] == "finished");
    CHECK(step_losses(logged.run_folder()).size() == 8);
}

TEST_CASE("an exit code at the end is a warning") {
    const LoggedJob logged("cat >>\"$1\"; exit 4");
    const auto outcome = logged.job().trained("run");
    CHECK(warnings_in(outcome.err) == 1);
    CHECK_THAT(outcome.err, contains(" ended with exit code 4; what it printed"));
    CHECK(inner(logged.copied()) == LoggedJob::lines_of(logged.run_folder() / "metrics.jsonl"));
}

TEST_CASE("a program that never reads is killed at the end, with what it started") {
    const LoggedJob logged("echo $$ >\"$1\"; sleep 100000 & sleep 100000", "end_seconds = 5\n");
    const auto outcome = logged.job().trained("run");
    CHECK(warnings_in(outcome.err) == 1);
    CHECK_THAT(
        outcome.err,
        contains(" did not end in time after its input had ended (log.end_seconds = 5.0) and was killed"));
    CHECK_FALSE(fs::exists("/proc/" + logged.copied().at(0)));
    CHECK(json_of(logged.run_folder() / "summary.json")["status"] == "finished");
}

TEST_CASE("lines that a program does not take are dropped, whole ones, and training does not wait") {
    // It reads only when the training has written its summary: until then there is more than a pipe and the
    // queue before it hold.
    const LoggedJob logged("while [ ! -e \"${1%copy}run/summary.json\" ]; do sleep 0.01; done; cat >>\"$1\"",
                           "end_seconds = 300\n");
    logged.make_labels_long(40'000);  // as the scores of an evaluation have them in their names
    const auto outcome = logged.job().trained("run", {"train.eval_every=1"});
    INFO(outcome.err);
    CHECK(warnings_in(outcome.err) == 1);
    CHECK_THAT(outcome.err, contains(" does not read its standard input: lines are dropped until it does"));
    const auto all = LoggedJob::lines_of(logged.run_folder() / "metrics.jsonl");
    const auto lines = logged.copied();
    CHECK(lines.size() < all.size() + 2);
    std::size_t next = 0;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        if (lines[i].starts_with("{\"summary\":")) continue;
        while (next < all.size() && all[next] != lines[i]) ++next;
        CHECK(next < all.size());  // in their order, none of them cut
    }
}

TEST_CASE("a program that cannot be run is refused before anything is written") {
    const LoggedJob logged("cat");
    const auto& job = logged.job();
    const auto refused = [&](const Words& parts) {
        check_refused(run(job.train("run")), parts);
        CHECK_FALSE(fs::exists(logged.run_folder()));
        const auto checked = run({"config", "check", job.file("job.toml")});
        CHECK(checked.code == 2);
        for (const auto& part : parts) CHECK_THAT(checked.err, contains(part));
    };
    fs::permissions(logged.script(), fs::perms::owner_read);
    refused({job.file("job.toml") + ":", ": error: log.command: " + logged.script() + " cannot be executed"});
    fs::remove(logged.script());
    refused({": error: log.command: " + logged.script() + ": no such program"});
    check_refused(run(job.train("run", {"log.command=[\"no-such-program\"]"})),
                  {"--set #1: error: log.command: there is no program no-such-program in PATH"});
    check_refused(run(job.train("run", {"log.command=[\"\"]"})),
                  {"--set #1: error: log.command: the program has no name"});
}

TEST_CASE("a program that no interpreter runs is refused before the first step") {
    const LoggedJob logged("cat");
    logged.job().write("log it.sh", "#!/no/such/interpreter\n");
    check_refused(run(logged.job().train("run")),
                  {": error: log.command: cannot run " + logged.script() + ": No such file or directory"});
    CHECK(step_losses(logged.run_folder()).empty());
}

TEST_CASE("a failed run ends with its summary, too") {
    const LoggedJob logged("cat >>\"$1\"");
    const auto outcome = run(logged.job().train("run", {"optimizer.lr=1e30", "train.steps=50"}));
    INFO(outcome.err);
    REQUIRE(outcome.code != 0);
    const auto last = nlohmann::json::parse(logged.copied().back());
    CHECK(last["summary"]["status"] == "failed");
}

TEST_CASE("a signal ends a failed run at once while it waits for the program to end") {
    // It ends when the training has.
    const LoggedJob logged("cat >>\"$1\"; echo >\"$1.ended\"; while [ -d /proc/$PPID ]; do sleep 0.01; done",
                           "end_seconds = 600\n");
    Started started(logged.job().train("run", {"optimizer.lr=1e30", "train.steps=50"}));
    const auto input_ended = logged.job().file("copy.ended");
    REQUIRE(wait_until([&] { return started.ended() || fs::exists(input_ended); }));
    REQUIRE_FALSE(started.ended());
    CHECK(json_of(logged.run_folder() / "summary.json")["status"] == "failed");
    started.send(SIGINT);
    const auto outcome = started.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 128 + SIGINT);
    CHECK_THAT(outcome.err, !contains("did not end in time"));
}

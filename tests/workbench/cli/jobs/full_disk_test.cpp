// A disk that gets full in the middle of a run: a file system of some hundred kB where the machine lets a
// user mount one, and everywhere RLIMIT_FSIZE, under which a write fails like one on a full disk, with
// another reason. One that is full before: run_folder_test.cpp.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <sys/resource.h>
#include <sys/wait.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

// Many short steps: what ends them is the limit.
const Words long_job{endless, "train.grad_accumulation_steps=1"};

Words long_job_of(std::int64_t steps) { return with(long_job, {"train.steps=" + std::to_string(steps)}); }

// Goes on with a run of two steps; once it has done two more no file may grow beyond that size. What is being
// saved then would be over the limit in another file.
Outcome limited(const TinyJob& job, const std::string& name, Words sets, rlim_t bytes) {
    const auto metrics = fs::path(job.run_folder(name)) / "metrics.jsonl";
    sets.insert(sets.begin(), long_job.begin(), long_job.end());
    Started started(job.train(name, sets, {"--resume"}));
    REQUIRE(stand_still(started, [&] {
        return bytes_of(metrics).find("{\"step\":4,") != std::string::npos &&
               leftovers(job.run_folder(name)).empty();
    }));
    const struct rlimit limit { bytes, RLIM_INFINITY };
    REQUIRE(prlimit(started.process(), RLIMIT_FSIZE, &limit, nullptr) == 0);
    started.send(SIGCONT);
    return started.wait();
}

void begin(const TinyJob& job, const std::string& name) {
    job.trained(name, long_job_of(2));
    fs::remove_all(fs::path(job.run_folder(name)) / "model");
}

// Requires that two runs ended with the same model, and lost no step but `lost`. The short run evaluated at
// its own end too.
void require_same_steps(const fs::path& expected, const fs::path& actual, std::int64_t lost = 0) {
    const auto last = fs::path("checkpoints") / checkpoints(expected).back() / "model.safetensors";
    const bool same = bytes_of(expected / last) == bytes_of(actual / last);
    CHECK(same);
    auto losses = step_losses(expected);
    losses.erase(lost);
    CHECK(step_losses(actual) == losses);
}

// Exit code of a shell that may mount file systems, which nobody else sees and which end with it; -1 if it
// was killed.
int in_a_namespace(const std::string& script) {
    const int status = std::system(("unshare -Urm sh -c '" + script + "'").c_str());
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The run "run" in a file system of that size: its exit code, what it writes to its standard error, and its
// folder, left in the job's "left". Nothing where no file system can be mounted.
std::optional<Outcome> on_a_small_disk(const TinyJob& job, const std::string& size, const Words& sets = {}) {
    const auto folder = job.run_folder("run");
    fs::create_directory(folder);
    const auto mount = "mount -t tmpfs -o size=" + size + " tmpfs " + folder;
    if (in_a_namespace(mount + " 2> /dev/null") != 0) return std::nullopt;
    auto command = "cd " + source_dir().string() + " && " + (build_dir() / "bin/switchyard").string();
    for (const auto& word : job.train("run", sets)) command += " " + word;
    const auto errors = job.file("err");
    const auto code = in_a_namespace(mount + " && (" + command + ") 2> " + errors + "; code=$?; cp -r " +
                                     folder + " " + job.file("left") + "; exit $code");
    return Outcome{code, "", bytes_of(errors)};
}

}  // namespace

TEST_CASE("a disk that is really full while saving leaves the previous checkpoints whole") {
    const TinyJob job;
    const fs::path folder = job.run_folder("run");
    job.trained("whole");
    // Beside the plan, which grows with the plugins that there are, three checkpoints of 270 kB each: the
    // third does not fit.
    const auto size = 620 + fs::file_size(fs::path(job.run_folder("whole")) / "plan.json") / 1024;
    const auto outcome =
        on_a_small_disk(job, std::to_string(size) + "k", {"train.checkpoint_every=1", "train.keep_last=3"});
    if (!outcome) return skip("no file system can be mounted here");
    INFO(outcome->err);
    CHECK(outcome->code == 1);
    CHECK_THAT(outcome->err,
               contains("error: cannot write " + (folder / "checkpoints/.writing-step-00000003").string()));
    CHECK_THAT(outcome->err, contains(": No space left on device\n"));

    const fs::path left = job.file("left");
    CHECK(checkpoints(left) == Words{"step-00000001", "step-00000002"});
    CHECK(leftovers(left).empty());
    CHECK(json_of(left / "summary.json")["status"] == "failed");
    job.trained("left", {}, {"--resume"});
    require_same_end(job.run_folder("whole"), left);
}

TEST_CASE("a disk that is really full is found before the first step") {
    const TinyJob job;
    // A checkpoint and the model have 350 kB.
    const auto outcome = on_a_small_disk(job, "300k");
    if (!outcome) return skip("no file system can be mounted here");
    INFO(outcome->err);
    CHECK(outcome->code == 2);
    CHECK_THAT(outcome->err,
               contains(job.run_folder("run") + ": error: there is no space for a checkpoint and the model, "
                                                "which take 1 MB: No space left on device\n"));
    CHECK_FALSE(fs::exists(job.file("left") + "/metrics.jsonl"));
}

TEST_CASE("a disk that is full while saving leaves the previous checkpoint whole") {
    const TinyJob job;
    std::int64_t last = 0;
    // The model has 21410 parameters of 4 bytes, AdamW's state twice that.
    const std::pair<rlim_t, std::string> limits[] = {{60'000, "model.safetensors"},
                                                     {120'000, "optimizer.safetensors"}};
    for (const auto& [bytes, file] : limits) {
        const auto name = "limit" + std::to_string(bytes);
        const fs::path folder = job.run_folder(name);
        begin(job, name);
        const auto outcome = limited(job, name, {"train.checkpoint_every=1"}, bytes);
        INFO(outcome.err);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.err,
                   contains("error: cannot write " + (folder / "checkpoints/.writing-step-").string()));
        CHECK_THAT(outcome.err, contains("/" + file + ": File too large\n"));
        CHECK(leftovers(folder).empty());
        const auto summary = json_of(folder / "summary.json");
        CHECK(summary["status"] == "failed");
        CHECK_THAT(summary["error"].get<std::string>(), contains(file));
        last = std::max(last, last_step(folder));
    }
    const auto to_the_end = long_job_of(last + 3);
    job.trained("whole", to_the_end);
    for (const auto& limit : limits) {
        const auto name = "limit" + std::to_string(limit.first);
        job.trained(name, to_the_end, {"--resume"});
        require_same_steps(job.run_folder("whole"), job.run_folder(name));
    }
}

TEST_CASE("a run whose metrics cannot be written any more stops with a checkpoint") {
    const TinyJob job;
    begin(job, "run");
    const fs::path folder = job.run_folder("run");
    // Longer than any file of a checkpoint.
    std::ofstream(folder / "metrics.jsonl", std::ios::app)
        << R"({"step":2,"note":")" + std::string(300'000, 'x') + "\"}\n";
    const auto outcome = limited(job, "run", {}, 250'000);
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, contains("error: cannot write " + (folder / "metrics.jsonl").string() +
                                     ": File too large; a checkpoint of step "));
    const auto summary = json_of(folder / "summary.json");
    CHECK(summary["status"] == "failed");
    CHECK(last_step(folder) == summary["steps"]);
    const auto to_the_end = long_job_of(last_step(folder) + 3);
    job.trained("whole", to_the_end);
    job.trained("run", to_the_end, {"--resume"});
    // The line that did not fit is gone, the step is not.
    require_same_steps(job.run_folder("whole"), folder, summary["steps"].get<std::int64_t>());
}

// A disk that is full while a checkpoint is saved: a file system of some hundred kB where the machine lets a user mount one, and everywhere RLIMIT_FSIZE,
// under which a write fails like one on a full disk, with another reason.
#include <csignal>
#include <cstdlib>

#include <sys/resource.h>
#include <sys/wait.h>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

RunOptions with_files_of_at_most(rlim_t bytes) {
    RunOptions options;
    options.in_child = [bytes] {
        const struct rlimit limit { bytes, bytes };
        setrlimit(RLIMIT_FSIZE, &limit);
        std::signal(SIGXFSZ, SIG_IGN);
    };
    return options;
}

// Exit code of a shell that may mount file systems, which nobody else sees and which end with it; -1 if it was killed.
int in_a_namespace(const std::string& script) {
    const int status = std::system(("unshare -Urm sh -c '" + script + "'").c_str());
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("a disk that is really full while saving leaves the previous checkpoints whole") {
    const TinyJob job;
    const fs::path folder = job.run_folder("run");
    fs::create_directory(folder);
    // Three checkpoints have 270 kB each: the third does not fit.
    const auto mount = "mount -t tmpfs -o size=700k tmpfs " + folder.string();
    if (in_a_namespace(mount + " 2> /dev/null") != 0) return skip("no file system can be mounted here");
    job.trained("whole");

    std::string command = "cd " + source_dir().string() + " && " + (build_dir() / "bin/switchyard").string();
    for (const auto& word : job.train("run", {"train.checkpoint_every=1", "train.keep_checkpoints=3"}))
        command += " " + word;
    const auto code =
        in_a_namespace(mount + " && (" + command + ") 2> " + job.file("err") + "; code=$?; cp -r " +
                       folder.string() + " " + job.file("left") + "; exit $code");
    const auto errors = bytes_of(job.file("err"));
    INFO(errors);
    CHECK(code == 1);
    CHECK_THAT(errors,
               contains("error: cannot write " + (folder / "checkpoints/.writing-step-00000003").string()));
    CHECK_THAT(errors, contains(": No space left on device\n"));

    const fs::path left = job.file("left");
    CHECK(checkpoints(left) == Words{"step-00000001", "step-00000002"});
    CHECK(leftovers(left).empty());
    CHECK(json_of(left / "summary.json")["status"] == "failed");
    job.trained("left", {}, {"--resume"});
    require_same_end(job.run_folder("whole"), left);
}

TEST_CASE("a disk that is full while saving leaves the previous checkpoint whole") {
    const TinyJob job;
    job.trained("whole");
    // The model has 21410 parameters of 4 bytes, AdamW's state twice that.
    const std::pair<rlim_t, std::string> limits[] = {{60'000, "model.safetensors"},
                                                     {120'000, "optimizer.safetensors"}};
    for (const auto& [bytes, file] : limits) {
        const auto name = "limit" + std::to_string(bytes);
        const fs::path folder = job.run_folder(name);
        job.trained(name, {"train.steps=2"});
        fs::remove_all(folder / "model");
        const auto before = files_below(folder / "checkpoints");

        const auto outcome =
            run(job.train(name, {"train.checkpoint_every=3"}, {"--resume"}), with_files_of_at_most(bytes));
        INFO(outcome.err);
        CHECK(outcome.code == 1);
        CHECK_THAT(outcome.err, contains("error: cannot write " +
                                         (folder / "checkpoints/.writing-step-00000003" / file).string() +
                                         ": File too large\n"));
        const bool untouched = files_below(folder / "checkpoints") == before;
        CHECK(untouched);
        CHECK(leftovers(folder).empty());
        const auto summary = json_of(folder / "summary.json");
        CHECK(summary["status"] == "failed");
        CHECK_THAT(summary["error"].get<std::string>(), contains(file));

        job.trained(name, {}, {"--resume"});
        const auto last = fs::path("checkpoints/step-00000008/model.safetensors");
        const bool same = bytes_of(folder / last) == bytes_of(fs::path(job.run_folder("whole")) / last);
        CHECK(same);
        CHECK(step_losses(folder) == step_losses(job.run_folder("whole")));
    }
}

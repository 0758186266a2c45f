// A disk that is full while a checkpoint is saved. Played by RLIMIT_FSIZE, under which a write fails like one on a full disk, with another reason.
#include <csignal>

#include <sys/resource.h>

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

}  // namespace

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

// Several processes on one run folder: one of them writes it, the others are told which.
// To add a case: something that a second process does while the first stands still, in `others`.
#include <csignal>
#include <memory>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words many_steps{endless, "train.checkpoint_every=1"};

// A run that stands still after its first checkpoint.
std::unique_ptr<Started> standing(const TinyJob& job, const std::string& name) {
    auto started = std::make_unique<Started>(job.train(name, many_steps));
    REQUIRE(stand_still(*started, [&] { return !checkpoints(job.run_folder(name)).empty(); }));
    return started;
}

// Goes on with a run that was ended, which then is as one that was not.
void require_same_resumed(const TinyJob& job, const std::string& name) {
    const auto to_the_end =
        with(many_steps, {"train.steps=" + std::to_string(last_step(job.run_folder(name)) + 3)});
    job.trained(name, to_the_end, {"--resume"});
    job.trained("whole", to_the_end);
    require_same_end(job.run_folder("whole"), job.run_folder(name));
}

// What several such processes, begun together, end with.
std::vector<Outcome> together(std::size_t count, const Words& words) {
    std::vector<std::unique_ptr<Started>> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(std::make_unique<Started>(words));
    std::vector<Outcome> outcomes;
    for (auto& one : all) outcomes.push_back(one->wait());
    return outcomes;
}

}  // namespace

TEST_CASE("a run folder that a process writes is refused to others, who are told which process it is") {
    const TinyJob job;
    const auto first = standing(job, "run");
    const auto before = files_below(job.run_folder("run"));
    const auto user = "in use by process " + std::to_string(first->process()) + " (switchyard train " +
                      job.file("job.toml") + " --run " + job.run_folder("run");
    for (const Words& resume : {Words{"--resume"}, Words{"--resume", "auto"}}) {
        check_refused(run(job.train("run", many_steps, resume)), {job.run_folder("run"), user});
        const bool untouched = files_below(job.run_folder("run")) == before;
        CHECK(untouched);
    }
    check_refused(run(job.train("run", many_steps)), {job.run_folder("run") + " contains a run already"});
    // Who only reads is not refused.
    CHECK(run({"report", job.run_folder("run"), "--html", job.file("report.html")}).code == 0);

    first->send(SIGTERM);
    first->send(SIGCONT);
    CHECK(first->wait().code == 128 + SIGTERM);
    require_same_resumed(job, "run");
}

TEST_CASE("of starts at the same moment one begins, and the others leave it alone") {
    const TinyJob job;
    job.trained("whole");
    for (const bool there : {false, true}) {
        const auto name = there ? "there" : "new";
        if (there) fs::create_directory(job.run_folder(name));
        int begun = 0;
        for (const auto& outcome : together(4, job.train(name))) {
            INFO(outcome.err);
            if (outcome.code == 0) ++begun;
            if (outcome.code == 0) continue;
            CHECK(outcome.code == 2);
            const bool told = outcome.err.find("in use by ") != std::string::npos ||
                              outcome.err.find(" contains a run already") != std::string::npos;
            CHECK(told);
        }
        CHECK(begun == 1);
        require_same_end(job.run_folder("whole"), job.run_folder(name));
    }
}

TEST_CASE("of resumptions at the same moment one goes on at a time") {
    const TinyJob job;
    job.trained("whole");
    job.trained("run", {"train.steps=2"});
    fs::remove_all(fs::path(job.run_folder("run")) / "model");
    int went_on = 0;
    for (const auto& outcome : together(4, job.train("run", {}, {"--resume"}))) {
        INFO(outcome.err);
        if (outcome.code == 0) ++went_on;  // one after the other, too
        if (outcome.code == 0) continue;
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains("in use by "));
    }
    CHECK(went_on >= 1);
    const auto last = fs::path("checkpoints/step-00000008/model.safetensors");
    const bool same = bytes_of(job.run_folder("run") / last) == bytes_of(job.run_folder("whole") / last);
    CHECK(same);
    CHECK(step_losses(job.run_folder("run")) == step_losses(job.run_folder("whole")));
}

TEST_CASE("a lock ends with the process that held it, however that ends") {
    const TinyJob job;
    const auto first = standing(job, "run");
    first->send(SIGKILL);
    CHECK(first->wait().code == -SIGKILL);
    require_same_resumed(job, "run");
}

TEST_CASE("--resume auto begins a run, goes on with it, and begins again what never came to a step") {
    const TinyJob job;
    job.trained("whole");
    const Words automatic{"--resume", "auto"};
    const auto begun = job.trained("run", {"train.steps=2"}, automatic);
    CHECK(begun.err.find("resuming from") == std::string::npos);
    CHECK_THAT(job.trained("run", {}, automatic).err, contains("resuming from "));
    CHECK(step_losses(job.run_folder("run")) == step_losses(job.run_folder("whole")));
    const fs::path cut = job.run_folder("cut");
    fs::create_directory(cut);
    for (const char* file : {"record.json", "config.toml"})
        fs::copy_file(fs::path(job.run_folder("run")) / file, cut / file);
    job.trained("cut", {}, automatic);
    require_same_end(job.run_folder("whole"), cut);
    check_refused(run({"train", "--resume", job.file("job.toml"), job.file("job.toml")}),
                  {"--resume: expected no value, or auto; got " + job.file("job.toml")});
    check_refused(run({"train", "--resume"}),
                  {"CONFIG is required: runs/train/config.toml is the job as that run was begun"});
}

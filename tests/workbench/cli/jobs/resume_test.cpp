// A run that was stopped, killed or cut short and then resumed ends as one that never was: bit for bit, with
// dropout and gradient accumulation.
// To add a case: train "whole" and one that is interrupted, then require_same_end.
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <random>

#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words resume{"--resume"};

// Goes on until the run is done.
Outcome resumed(const TinyJob& job, const std::string& name, const Words& sets = {}) {
    return job.trained(name, sets, resume);
}

// Large enough that a save takes a while.
const Words killed_job{"model.vocab_size=30000", "train.checkpoint_every=1", "train.eval_every=4",
                       "train.steps=12", "train.keep_best=eval.loss"};

// Ends a run by SIGKILL, the moment drawn from `random`: either anywhere, or while a checkpoint is being
// written, removed or renamed. Says whether a save was cut off; nothing if the run ended before.
std::optional<bool> kill_somewhere(const TinyJob& job, const std::string& name, const fs::path& folder,
                                   std::mt19937& random) {
    const bool going_on = fs::exists(folder / "metrics.jsonl");
    Started started(job.train(name, killed_job, going_on ? resume : Words{}));
    const bool anywhere = random() % 3 == 0;
    const auto delay = std::chrono::milliseconds(random() % 600);
    const char* const stages[] = {"", "model.safetensors", "optimizer.safetensors"};
    const std::string stage = stages[random() % 3];
    const auto saves_before = random() % 3;

    const auto start = std::chrono::steady_clock::now();
    std::string last;
    std::size_t saves = 0;
    const auto now = [&] {
        if (started.ended()) return true;
        if (anywhere) return std::chrono::steady_clock::now() - start > delay;
        const auto open = leftovers(folder);
        if (open.empty() || (!stage.empty() && !fs::exists(folder / "checkpoints" / open.front() / stage)))
            return false;
        if (open.front() != last) {
            last = open.front();
            ++saves;
        }
        // Stands still before it is judged: what is seen then is what the kill leaves.
        if (saves <= saves_before || !started.stop()) return false;
        if (!leftovers(folder).empty()) return true;
        started.send(SIGCONT);
        return false;
    };
    REQUIRE(wait_until(now));
    if (started.ended()) return std::nullopt;
    started.send(SIGKILL);
    const auto code = started.wait().code;
    if (code == 0) return std::nullopt;  // it ended just before
    REQUIRE(code == -SIGKILL);
    return !leftovers(folder).empty();
}

}  // namespace

TEST_CASE("parameters in bfloat16 are resumed with their float32 masters") {
    const TinyJob job;
    const Words sets{"precision.backend=amp/bf16_pure", "train.steps=7"};
    job.trained("whole", sets);
    const auto memory = json_of(fs::path(job.run_folder("whole")) / "summary.json").at("memory");
    CHECK(memory.at("parameters") == 21410 * 2);
    CHECK(memory.at("gradients") == 21410 * 2);
    CHECK(memory.at("masters") == 21410 * 4);
    CHECK(memory.at("optimizer") == 2 * 21410 * 4);
    auto cut = sets;
    cut.push_back("train.steps=3");
    job.trained("cut", cut);
    fs::remove_all(fs::path(job.run_folder("cut")) / "model");
    resumed(job, "cut", sets);
    CHECK(step_losses(job.run_folder("cut")) == step_losses(job.run_folder("whole")));
    const bool same =
        bytes_of(fs::path(job.run_folder("cut")) / "checkpoints/step-00000007/model.safetensors") ==
        bytes_of(fs::path(job.run_folder("whole")) / "checkpoints/step-00000007/model.safetensors");
    CHECK(same);
}

TEST_CASE("a run goes on under another precision policy, and says where its parameters come from") {
    const TinyJob job;
    job.trained("run", {"precision.backend=amp/fp32", "train.steps=2"});
    std::string before = "amp/fp32";
    std::string step = "2";
    for (const std::string policy : {"amp/bf16_pure", "amp/fp16", "amp/bf16", "amp/fp32"}) {
        INFO(policy);
        const auto next = std::to_string(std::stoi(step) + 1);
        const auto outcome = job.trained("run", {"precision.backend=" + policy, "train.steps=" + next},
                                         {"--resume", "--allow-change", "precision.backend"});
        CHECK(outcome.code == 0);
        CHECK_THAT(outcome.err, contains("step-0000000" + step + " was saved under precision " + before +
                                         ": parameters are converted from its float32 values\n"));
        before = policy;
        step = next;
    }
    CHECK(step_losses(job.run_folder("run")).size() == 6);
}

TEST_CASE("a run of a few steps and its resumption equal one run") {
    const TinyJob job;
    const Words evaluated{"train.eval_every=2"};
    job.trained("whole", evaluated);
    for (const char* steps : {"1", "3", "5"}) {  // 5: the last, smaller group of an epoch
        const auto name = std::string("cut") + steps;
        job.trained(name, {"train.eval_every=2", std::string("train.steps=") + steps});
        fs::remove(fs::path(job.run_folder(name)) / "model/model.safetensors");
        resumed(job, name, evaluated);
        // The short run evaluated at its own end too.
        auto whole = eval_losses(job.run_folder("whole"));
        for (const auto& [step, loss] : eval_losses(job.run_folder(name))) {
            if (whole.contains(step)) CHECK(whole.at(step) == loss);
            if (!whole.contains(step)) CHECK(std::to_string(step) == steps);
        }
        CHECK(step_losses(job.run_folder(name)) == step_losses(job.run_folder("whole")));
        const bool same =
            bytes_of(fs::path(job.run_folder(name)) / "checkpoints/step-00000008/model.safetensors") ==
            bytes_of(fs::path(job.run_folder("whole")) / "checkpoints/step-00000008/model.safetensors");
        CHECK(same);
    }
}

TEST_CASE("a run that goes on from the checkpoint of its beginning makes no evaluation there") {
    const TinyJob job;
    const Words sets{"train.nonfinite=rewind", "train.eval_every=2", "train.keep_last=20"};
    job.trained("whole", sets);
    const fs::path whole = job.run_folder("whole"), cut = job.run_folder("cut");
    fs::copy(whole, cut, fs::copy_options::recursive);
    fs::remove_all(cut / "model");
    REQUIRE(checkpoints(cut).front() == "step-00000000");
    for (const auto& name : checkpoints(cut))
        if (name != "step-00000000") fs::remove_all(cut / "checkpoints" / name);
    resumed(job, "cut", sets);
    CHECK(eval_losses(cut) == eval_losses(whole));
    require_same_end(whole, cut);
}

TEST_CASE("whoever makes the batches, and with any number of workers, a resumption equals one run") {
    const TinyJob job;
    const std::pair<std::string, Words> loaders[] = {
        {"padded", {"batch.pad_multiple=8"}},
        {"bucketed", {"batch.tokens=120", "data_loader.options.bucketed.window=16"}},
        {"packed", {"batch.layout=packed", "batch.tokens=64", "data_loader.options.packed.window=16"}}};
    for (const auto& one : loaders) {
        const auto& loader = one.first;
        const auto with = [&](const std::string& workers, const Words& more = {}) {
            Words sets = one.second;
            sets.push_back("data_loader.backend=batching/" + loader);
            sets.push_back("data_loader.options." + loader + ".workers=" + workers);
            sets.insert(sets.end(), more.begin(), more.end());
            return sets;
        };
        job.trained(loader, with("1", {"train.steps=12"}));
        for (const std::string steps : {"2", "7"}) {
            INFO(loader << ", cut after step " << steps);
            const auto name = loader + steps;
            job.trained(name, with("0", {"train.steps=" + steps}));
            job.trained(name, with("3", {"train.steps=12"}),
                        {"--resume", "--allow-change", "data_loader.options." + loader + ".workers"});
            const fs::path whole = job.run_folder(loader), cut = job.run_folder(name);
            CHECK(step_losses(cut) == step_losses(whole));
            for (const char* file : {"model.safetensors", "optimizer.safetensors"}) {
                const bool same = bytes_of(cut / "checkpoints/step-00000012" / file) ==
                                  bytes_of(whole / "checkpoints/step-00000012" / file);
                CHECK(same);
            }
        }
    }
}

TEST_CASE("a resumption equals one run where the kernels run in two threads") {
    const TinyJob job;
    // What is larger than LibTorch's grain of 32768 values, and the matrix products of this width, are shared
    // by both.
    const Words wide{"runtime.threads=2", "model.hidden_size=128",           "model.intermediate_size=512",
                     "batch.size=16",     "train.grad_accumulation_steps=2", "train.checkpoint_every=1",
                     "train.steps=3"};
    job.trained("whole", wide);
    auto cut = wide;
    cut.push_back("train.steps=1");  // in the middle of an epoch
    job.trained("cut", cut);
    fs::remove_all(fs::path(job.run_folder("cut")) / "model");
    resumed(job, "cut", wide);
    CHECK(step_losses(job.run_folder("cut")) == step_losses(job.run_folder("whole")));
    for (const char* file : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
        INFO(file);
        const auto last = std::string("checkpoints/step-00000003/") + file;
        const bool same = bytes_of(fs::path(job.run_folder("cut")) / last) ==
                          bytes_of(fs::path(job.run_folder("whole")) / last);
        CHECK(same);
    }
}

TEST_CASE("what a kill left of the run's own files is removed when the run is resumed, and nothing else") {
    const TinyJob job;
    job.trained("run", {"train.steps=1"});
    const fs::path folder = job.run_folder("run");
    const Words ours{".writing-config.toml-a1B2c3", ".writing-metrics.jsonl-XXXXXX",
                     "model/.writing-config.json-000000"};
    const Words theirs{"config.toml.backup", ".writing-notes", "model/config.json.a1B2c3"};
    for (const auto& names : {ours, theirs}) {
        for (const auto& name : names) job.write("run/" + name, "half");
    }
    job.trained("run", {"train.steps=2"}, resume);
    for (const auto& name : ours) CHECK_FALSE(fs::exists(folder / name));
    for (const auto& name : theirs) CHECK(bytes_of(folder / name) == "half");
}

TEST_CASE(
    "what a kill in the last save left is removed when the run is resumed, though nothing is saved again") {
    const TinyJob job;
    job.trained("run", killed_job);
    const fs::path left = fs::path(job.run_folder("run")) / "checkpoints/.writing-old";
    fs::create_directory(left);
    std::ofstream(left / "state.json") << "{";
    job.trained("run", killed_job, resume);
    CHECK(leftovers(job.run_folder("run")).empty());
}

TEST_CASE(
    "a run that is killed at twenty random moments, in the middle of a save too, ends as one that was not") {
    const TinyJob job;
    job.trained("whole", killed_job);
    std::mt19937 random(20);
    int kills = 0, in_a_save = 0;
    for (int round = 0; kills < 20; ++round) {
        const auto name = "killed" + std::to_string(round);
        const fs::path folder = job.run_folder(name);
        bool done = false;
        while (kills < 20 && !done) {
            const auto killed = kill_somewhere(job, name, folder, random);
            done = !killed;
            kills += done ? 0 : 1;
            in_a_save += killed.value_or(false) ? 1 : 0;
        }
        if (!done) job.trained(name, killed_job, fs::exists(folder / "metrics.jsonl") ? resume : Words{});
        require_same_end(job.run_folder("whole"), folder);
    }
    CHECK(in_a_save >= 8);
}

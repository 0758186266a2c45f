// Checkpoints that ranks write together: each its part, read as one by whatever reads checkpoints.
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "launched_ranks.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

const Words parted{"train.steps=4", "train.checkpoint_every=2", "train.keep_last=5", "batch.size=6",
                   "distributed.shard=full"};

fs::path last_checkpoint(const TinyJob& job, const std::string& run) {
    const auto folder = fs::path(job.run_folder(run)) / "checkpoints";
    return folder / checkpoints(job.run_folder(run)).back();
}

}  // namespace

TEST_CASE("each rank of a divided training writes a part of a checkpoint, none of them most of it") {
    const TinyJob job;
    train_on(2, job, "run", parted);
    train_on(1, job, "alone", with(parted, {"distributed.shard=none", "batch.size=12"}));
    const auto parts = last_checkpoint(job, "run"), whole = last_checkpoint(job, "alone");
    for (const std::string kind : {"model", "optimizer"}) {
        INFO(kind);
        const auto all = static_cast<double>(fs::file_size(whole / (kind + ".safetensors")));
        CHECK_FALSE(fs::exists(parts / (kind + ".safetensors")));
        for (const std::string part : {"-00001", "-00002"}) {
            const auto size = fs::file_size(parts / (kind + part + "-of-00002.safetensors"));
            CHECK(static_cast<double>(size) < 0.7 * all);
        }
    }
    const auto index = json_of(parts / "model.safetensors.index.json");
    std::size_t weights = 0;
    double bytes = 0.0;
    for (const auto& [name, value] : saved_tensors(parts)) {
        if (!name.starts_with("model ")) continue;
        CHECK(index["weight_map"].contains(name.substr(6)));
        bytes += static_cast<double>(value.size());
        ++weights;
    }
    CHECK(index["weight_map"].size() == weights);
    CHECK(index["metadata"]["total_size"].get<double>() == bytes);
    const auto keys = [](const auto& tensors) {
        std::string all;
        for (const auto& [name, value] : tensors) all += name + " " + std::to_string(value.size()) + "\n";
        return all;
    };
    CHECK(keys(saved_tensors(parts)) == keys(saved_tensors(whole)));
}

TEST_CASE("what reads a checkpoint reads one in parts, and names the part that is damaged") {
    const TinyJob job;
    train_on(2, job, "run", parted);
    const auto run_folder = job.run_folder("run");
    const auto answer = [&](const std::string& name) {
        return run_json({"predict", name, "a dull plot"})["predictions"];
    };
    CHECK(answer(run_folder + "@last") == answer(run_folder));

    const auto part = last_checkpoint(job, "run") / "model-00002-of-00002.safetensors";
    auto bytes = bytes_of(part);
    bytes.back() ^= 1;
    std::ofstream(part, std::ios::binary) << bytes;
    check_refused(run({"predict", run_folder + "@last", "a dull plot"}),
                  {"model-00002-of-00002.safetensors: is damaged"});
    const auto resumed = run(job.train("run", with(parted, {"distributed.shard=none"}), {"--resume"}));
    CHECK(resumed.code == 2);
    CHECK_THAT(resumed.err, contains("model-00002-of-00002.safetensors: is damaged") &&
                                contains("to resume from the checkpoint before it"));
    fs::remove(part);
    check_refused(run({"predict", run_folder + "@last", "a dull plot"}),
                  {"model-00002-of-00002.safetensors: cannot be read"});
}

TEST_CASE("where a rank cannot write its part there is no checkpoint of it, and the rank is named") {
    const TinyJob job;
    const fs::path folder = job.run_folder("run");
    const auto sets = with(parted, {endless, "train.checkpoint_every=1", "train.keep_last=2"});
    Started launcher(launched(job.train("run", sets), 2));
    std::vector<pid_t> ranks;
    REQUIRE(wait_until([&] {
        ranks = ranks_of(launcher.process());
        return (ranks.size() == 2 && has_checkpoint(folder)) || launcher.ended();
    }));
    REQUIRE(ranks.size() == 2);
    // What lets a write fail like one on a full disk.
    const struct rlimit limit { 10'000, RLIM_INFINITY };
    REQUIRE(prlimit(ranks[1], RLIMIT_FSIZE, &limit, nullptr) == 0);
    const auto outcome = launcher.wait();
    INFO(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err,
               contains("rank 1: cannot write ") && contains("-00002-of-00002.safetensors: File too large"));
    CHECK(leftovers(folder).empty());
    for (const auto& name : checkpoints(folder)) saved_tensors(folder / "checkpoints" / name);
    const auto last = checkpoints(folder).back();
    train_on(2, job, "run", with(parted, {"train.steps=" + std::to_string(std::stol(last.substr(5)) + 1)}),
             {"--resume"});
}

// Which changes of a job make a run another one. To add a case: a line in the test, of what was and what is.
#include "core/workbench/train/run_facts.h"

#include <filesystem>
#include <fstream>

#include "core/kernel/config/show.h"
#include "core/workbench/data/tokenizers/open_tokenizer.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

struct Length {
    std::string steps, warmup_steps;
};

train::RunFacts facts_of(const Length& length) {
    train::RunFacts facts;
    facts.config = {{"train.schedule", "\"constant\""},
                    {"train.warmup_ratio", "0.0"},
                    {"train.steps", length.steps},
                    {"train.warmup_steps", length.warmup_steps}};
    return facts;
}

// Whether another number of steps counts.
bool steps_count(const Length& was, const Length& is) {
    for (const auto& change : train::changes_between(facts_of(was), facts_of(is)))
        if (change.key == "train.steps") return change.counts;
    return false;
}

}  // namespace

TEST_CASE("another number of steps counts where a warm-up is cut to it") {
    CHECK(steps_count({"5", "10"}, {"8", "10"}));
    CHECK(steps_count({"5", "10"}, {"20", "10"}));
    CHECK(steps_count({"20", "10"}, {"5", "10"}));
    CHECK_FALSE(steps_count({"10", "10"}, {"20", "10"}));
    CHECK_FALSE(steps_count({"5", "0"}, {"20", "0"}));
    CHECK_FALSE(steps_count({"0", "10"}, {"20", "10"}));
}

TEST_CASE("what is demanded of plugins is told as a change, and changes nothing that is learnt") {
    config::Config demanding;
    demanding.plugins.require = {config::Demand::signature, config::Demand::lock};
    demanding.plugins.trusted_keys = {"ada.pub"};
    demanding.plugins.lock = "all.lock";
    train::RunFacts was, is;
    was.config = config::canonical_values(config::Config());
    is.config = config::canonical_values(demanding);
    for (const auto& [before, now] : {std::pair(was, is), std::pair(is, was)}) {
        std::vector<std::string> keys;
        for (const auto& change : train::changes_between(before, now)) {
            keys.push_back(change.key);
            CHECK_FALSE(change.counts);
        }
        CHECK(keys == std::vector<std::string>{"plugins.lock", "plugins.require", "plugins.trusted_keys"});
    }
}

TEST_CASE("another number of threads counts, unless it follows from another number of ranks") {
    struct Place {
        std::int64_t ranks, threads;
        std::string asked;
    };
    // A line for each change, with "!" at its end where it counts.
    const auto told = [](const Place& was, const Place& is) {
        const auto facts = [](const Place& place) {
            train::RunFacts facts;
            facts.config["runtime.threads"] = place.asked;
            facts.threads = place.threads;
            facts.ranks = place.ranks;
            return train::facts_from(train::to_json(facts));
        };
        std::string text;
        for (const auto& change : train::changes_between(facts(was), facts(is)))
            text += change.key + " " + change.before + " " + change.now + (change.counts ? "!" : "") + "\n";
        return text;
    };
    CHECK(told({1, 4, "0"}, {1, 4, "0"}).empty());
    CHECK(told({1, 4, "0"}, {1, 2, "0"}) == "runtime.threads 4 threads 2 threads!\n");
    CHECK(told({1, 4, "0"}, {4, 1, "0"}) == "ranks 1 4\nruntime.threads 4 threads 1 thread\n");
    CHECK(told({4, 1, "0"}, {2, 2, "0"}) == "ranks 4 2\nruntime.threads 1 thread 2 threads\n");
    CHECK(told({2, 2, "2"}, {4, 2, "2"}) == "ranks 2 4\n");
    CHECK(told({1, 4, "0"}, {4, 1, "1"}) ==
          "runtime.threads 0 1\nranks 1 4\nruntime.threads 4 threads 1 thread!\n");
    // A checkpoint of an older version does not say how many ranks there were.
    CHECK(told({0, 4, "0"}, {4, 1, "0"}) == "runtime.threads 4 threads 1 thread!\n");
}

TEST_CASE("a tokenizer that came in a GGUF file of weights is the same in the folder in which it is kept") {
    config::Config config;
    config.train.weights = (test::source_dir() / "tests/fixtures/gguf/bpe_smollm.gguf").string();
    const auto folder = test::temporary_dir("run_facts") / "tokenizer";
    std::filesystem::create_directories(folder);
    // What counts as changed after the files there were read instead.
    const auto changed = [&](const std::string& added) {
        const auto given = data::open_tokenizer(config.data, config.train.weights).tokenizer;
        REQUIRE(given != nullptr);
        for (const auto& file : given->files()) std::ofstream(folder / file.name) << file.bytes << added;
        auto kept = config;
        kept.data.vocabulary = folder.string();
        const auto read = data::open_tokenizer(kept.data, kept.train.weights).tokenizer;
        REQUIRE(read != nullptr);
        std::vector<std::string> keys;
        for (const auto& change : train::changes_between(train::facts_of(config, *given, 1, {}),
                                                         train::facts_of(kept, *read, 1, {})))
            if (change.counts) keys.push_back(change.key);
        return keys;
    };
    CHECK(changed("").empty());
    CHECK(changed("\n") == std::vector<std::string>{"data.vocabulary"});
}

// What is said where ranks that start differ from the first one. To add a case: a line in the first test for
// what must be alike, in the second for what need not be.
#include "core/workbench/train/rank_facts.h"

#include <functional>

#include <switchyard_test.h>

using namespace switchyard;

namespace {

train::RankFacts usual() {
    config::Config config;
    auto facts = train::facts_at_start(config);
    facts.program = "1.0.0 (commit abc)";
    facts.run.data["data.train"] = {{"/here/rows.tsv", "11"}};
    facts.run.threads = 2;
    facts.run.cpu = "one processor";
    facts.run.libtorch = "2.11";
    facts.plugins = {{"flash", "1.2.0 with XXH3 00112233"}, {"torch", "1.0.0 with XXH3 8899aabb"}};
    facts.plan = "attention: flash/flash\n";
    return facts;
}

using Change = std::function<void(train::RankFacts&)>;

// What is said of rank 3, as it comes through the store.
std::string told(const Change& change) {
    auto other = usual();
    change(other);
    const auto arrived = [](const train::RankFacts& facts) {
        return train::rank_facts_from(base::parse_json(train::to_json(facts).dump()).value);
    };
    return train::differences(arrived(usual()), arrived(other), 3);
}

Change sets(const std::string& key, const std::string& value) {
    return [=](train::RankFacts& facts) { facts.run.config[key] = value; };
}

}  // namespace

TEST_CASE("what ranks must have in common is told with the rank and both sides") {
    const auto line = [](const std::string& what, const std::string& its, const std::string& of_first) {
        return "rank 3 has another " + what + " than rank 0: " + its + " instead of " + of_first + "\n";
    };
    CHECK(told([](auto& facts) { facts.program = "1.0.1"; }) ==
          line("program", "1.0.1", "1.0.0 (commit abc)"));
    CHECK(told([](auto& facts) { facts.run.libtorch = "2.10"; }) == line("libtorch", "2.10", "2.11"));
    CHECK(told([](auto& facts) { facts.plugins["flash"] = "1.2.0 with XXH3 44556677"; }) ==
          line("build of the plugin flash", "1.2.0 with XXH3 44556677", "1.2.0 with XXH3 00112233"));
    CHECK(told([](auto& facts) { facts.run.data["data.train"][0].hash = "12"; }) ==
          line("data.train", "/here/rows.tsv with XXH3 12", "/here/rows.tsv with XXH3 11"));
    CHECK(told([](auto& facts) { facts.plan = "attention: naive/naive\n"; }) ==
          "rank 3 runs other components or other samples than rank 0:\nattention: naive/naive\ninstead of\n"
          "attention: flash/flash\n");
    // Those among them that only say when something is written down decide on when ranks wait for each other.
    for (const std::string key :
         {"optimizer.lr", "train.eval_every", "train.eval_answers", "train.patience", "train.min_delta",
          "train.max_rewinds", "train.checkpoint_every", "train.checkpoint_minutes", "train.steps",
          "train.epochs", "train.log_every", "distributed.timeout", "distributed.mesh.tensor",
          "distributed.shard"}) {
        INFO(key);
        const auto before = usual().run.config.at(key);
        CHECK(told(sets(key, "77")) == line(key, "77", before));
    }
    CHECK(told([](auto& facts) {
              facts.program = "1.0.1";
              facts.run.libtorch = "2.10";
              facts.plan = "another";
          }) == line("program", "1.0.1", "1.0.0 (commit abc)") + line("libtorch", "2.10", "2.11"));
}

TEST_CASE("what is a host's own affair may differ between ranks") {
    CHECK(told([](auto&) {}).empty());
    for (const std::string key : {"distributed.interface", "log.command", "plugins.paths", "runtime.threads",
                                  "runtime.spin", "runtime.allocator", "train.weights", "data.train"}) {
        INFO(key);
        CHECK(told(sets(key, "\"other\"")).empty());
    }
    CHECK(told([](auto& facts) { facts.run.threads = 7; }).empty());
    CHECK(told([](auto& facts) { facts.run.cpu = "another processor"; }).empty());
    CHECK(told([](auto& facts) { facts.run.data["data.train"][0].path = "/there/rows.tsv"; }).empty());
    // A stage of a pipeline needs plugins that others do not.
    CHECK(told([](auto& facts) { facts.plugins["fused"] = "1.0.0 with XXH3 ffeeddcc"; }).empty());
}

TEST_CASE("names of data files are no difference before the files are read") {
    config::Config config;
    const auto first = train::facts_at_start(config);
    config.data.train = {"elsewhere/rows.tsv"};
    CHECK(train::differences(first, train::facts_at_start(config), 1).empty());
    config.train.eval_every += 5;
    CHECK_THAT(train::differences(first, train::facts_at_start(config), 1),
               test::contains("rank 1 has another train.eval_every than rank 0: 5 instead of 0"));
}

TEST_CASE("what a rank says is printed without moving the cursor") {
    CHECK_THAT(told([](auto& facts) { facts.program = "a\x1b[2J"; }), !test::contains("\x1b"));
    CHECK_THAT(told([](auto& facts) { facts.plan = "a\x1b[2J"; }), !test::contains("\x1b"));
}

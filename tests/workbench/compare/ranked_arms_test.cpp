// Arms whose steps several ranks share, for real. To add a case of bad input: a line in the table.
#include <algorithm>
#include <csignal>
#include <sstream>
#include <thread>

#include "compared.h"
#include "processes.h"

using namespace switchyard::test;

namespace {

// One thread for each rank, dropout by logical position everywhere.
const Words alike{"--set", "runtime.threads=1",          "--set", "attention.backend=naive",
                  "--set", "normalization.backend=naive"};

bool two_processors() { return std::thread::hardware_concurrency() >= 2; }

// Ranks of arms that others started: children of a coordinator's children.
std::vector<pid_t> other_ranks_of(pid_t coordinator) {
    std::vector<pid_t> found;
    for (const auto arm : children_of(coordinator))
        for (const auto rank : children_of(arm))
            if (is_arm(rank)) found.push_back(rank);
    return found;
}

}  // namespace

TEST_CASE("an arm of two ranks that share a batch computes what one process does") {
    if (!two_processors()) return skip("two ranks need two processors");
    const TinyJob job;
    const auto json =
        compared(job, with(alike, {"--arm", "one:", "--arm", "two: ranks=2 batch.size=2", "--arm",
                                   "divided: ranks=2 batch.size=2 distributed.shard=full"}));
    const auto& one = json["arms"][0];
    CHECK(one["ranks"] == 1);
    for (const std::size_t arm : {1, 2}) {
        const auto& two = json["arms"][arm];
        INFO(two["name"] << two["reason"]);
        REQUIRE(two["status"] == "ok");
        CHECK(two["ranks"] == 2);
        for (const char* what : {"loss", "output", "gradient"}) {
            CHECK(two["drift"][what].get<double>() < 1e-4);
            CHECK(two["drift"][what].get<double>() < two["drift_allowed"][what].get<double>());
        }
        REQUIRE(one["losses"].size() == two["losses"].size());
        for (std::size_t step = 0; step < one["losses"].size(); ++step)
            CHECK(two["losses"][step].get<double>() ==
                  Approx(one["losses"][step].get<double>()).epsilon(1e-4));
        for (std::size_t block = 0; block < one["blocks"].size(); ++block)
            CHECK(one["blocks"][block]["samples"] == two["blocks"][block]["samples"]);
    }
    CHECK(json["pairs"][0]["parallel_efficiency"].is_null());  // batch.size differs too
}

TEST_CASE("an arm whose ranks have parts or ranges of the layers computes what one process does") {
    if (!two_processors()) return skip("two ranks need two processors");
    const TinyJob job;
    job.write("words.toml",
              "[model]\ntype = \"gpt\"\nlayers = 2\nhidden_size = 16\nheads = 2\nintermediate_size = 32\n"
              "vocab_size = 50\nmax_positions = 16\n[task]\nkind = \"causal_lm\"\n[batch]\nsize = 3\n"
              "max_length = 16\n[train]\ngrad_accumulation_steps = 2\n[run]\ndevice = \"cpu\"\n");
    auto words =
        short_run(with(alike, {"--arm", "one:", "--arm", "parts: ranks=2 distributed.mesh.tensor=2", "--arm",
                               "tokens: ranks=2 distributed.mesh.tensor=2 distributed.sequence_parallel=true",
                               "--arm", "ranges: ranks=2 distributed.mesh.pipeline=2"}));
    words.insert(words.begin(), {"compare", job.file("words.toml")});
    const auto json = run_json(words, 0);
    const auto& one = json["arms"][0];
    for (const std::size_t arm : {1, 2, 3}) {
        const auto& parts = json["arms"][arm];
        INFO(parts["name"] << parts["reason"]);
        REQUIRE(parts["status"] == "ok");
        for (const char* what : {"loss", "output", "gradient"})
            CHECK(parts["drift"][what].get<double>() < 1e-5);
        // Sums are in another order, but for ranges: there one stage computes what one process does.
        if (arm != 3) CHECK(parts["drift"]["gradient"].get<double>() > 0.0);
        // Of ranges the second rank alone has these.
        for (const auto* slot : {"linear.lm_head", "loss"}) CHECK(parts["executed"].contains(slot));
        for (std::size_t step = 0; step < one["losses"].size(); ++step)
            CHECK(parts["losses"][step].get<double>() ==
                  Approx(one["losses"][step].get<double>()).epsilon(1e-4));
        for (std::size_t block = 0; block < one["blocks"].size(); ++block)
            CHECK(one["blocks"][block]["samples"] == parts["blocks"][block]["samples"]);
    }
}

TEST_CASE("where arms differ in their ranks alone, their parallel efficiency is told") {
    if (!two_processors()) return skip("two ranks need two processors");
    const TinyJob job;
    const auto page = job.file("compare.html"), fastest = job.file("fastest"),
               file = job.file("compare.json");
    const auto outcome = compared_text(
        job, with(alike, {"--vary", "ranks=1,2", "--html", page, "--fastest", fastest, "--json", file}));
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.out, contains("ranks=2: parallel efficiency of 2 ranks over 1 rank, 1 thread each"));
    CHECK_THAT(bytes_of(page), contains("parallel efficiency of 2 ranks"));
    CHECK(bytes_of(fastest).find("ranks") == std::string::npos);
    // An arm of several ranks is none that --set gives, however fast it was.
    const auto written = job.file("written");
    (void)compared(job, with(alike, {"--arm", "one: optimizer.lr=1e-4", "--arm",
                                     "two: ranks=2 optimizer.lr=2e-4", "--fastest", written}));
    CHECK(bytes_of(written) == "optimizer.lr=1e-4\n");
    const auto json = json_of(file);
    const auto& pair = json["pairs"][0];
    CHECK(pair["parallel_efficiency"]["median"].get<double>() ==
          Approx(pair["speedup"]["median"].get<double>() / 2.0));
    const auto most = [&](int arm) {
        std::int64_t samples = 0;
        for (const auto& block : json["arms"][arm]["blocks"])
            samples = std::max(samples, block["samples"].get<std::int64_t>());
        return samples;
    };
    CHECK(most(0) == 12);
    CHECK(most(1) == 24);
    CHECK(json["arms"][1]["drift"]["output"].is_null());  // its batches are larger
}

TEST_CASE("what several ranks cannot do is told before anything runs") {
    const TinyJob job;
    struct Case {
        Words words;
        std::string text;
    };
    const std::vector<Case> cases{
        {{"--vary", "ranks=1,0"}, "ranks: expected a number of processes from 1 to 1024, got '0'"},
        {{"--arm", "a: ranks=two"}, "got 'two'"},
        {{"--vary", "ranks=1,1000"}, "1000 ranks with 1 thread each need more than the"},
        {{"--vary", "ranks=1,2", "--set", "runtime.threads=1000"},
         "2 ranks with 1000 threads each need more"},
        {{"--vary", "ranks=1,2", "--operation", "forward"}, "only the steps of a training are shared"},
        {{"--arm", "parts: distributed.mesh.tensor=2"},
         "there is 1 rank; expected a multiple of 2 ranks, as with `switchyard launch -n 2`; among the "
         "values "
         "of an arm ranks=N says how many"},
        {{"--arm", "ranges: ranks=3 distributed.mesh.pipeline=2"},
         "each 2 ranks have a model together, and there are 3 ranks"}};
    for (const auto& one : cases) {
        INFO(one.text);
        const auto outcome = compared_text(job, one.words);
        INFO(outcome.err);
        CHECK(outcome.code == 2);
        CHECK_THAT(outcome.err, contains(one.text));
        CHECK(outcome.out.empty());
    }
}

TEST_CASE("a rank of an arm that is killed ends its arm alone, and no rank outlives the coordinator") {
    if (!two_processors()) return skip("two ranks need two processors");
    const TinyJob job;
    const bool all = GENERATE(false, true);
    // The first rank may be waiting for the others to connect when one of them is killed.
    Started started(compare_words(job, with(alike, {"--vary", "ranks=1,2", "--blocks", "60", "--time", "600",
                                                    "--set", "distributed.timeout=10"})));
    std::vector<pid_t> ranks;
    REQUIRE(wait_until([&] {
        ranks = other_ranks_of(started.process());
        return started.ended() || !ranks.empty();
    }));
    REQUIRE(ranks.size() == 1);
    if (all)
        started.send(SIGKILL);
    else
        ::kill(ranks[0], SIGKILL);
    CHECK(wait_until([&] { return !is_alive(ranks[0]); }));
    if (all) return;
    const auto outcome = started.wait();
    INFO(outcome.err);
    INFO(outcome.out);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.out, contains("ranks=2: "));
}

// What is wrong with arms is told before anything runs, all of it at once, with exit code 2.
// To add a case: arms, and the text.
#include "compared.h"

using namespace switchyard::test;

TEST_CASE("every arm's mistakes at once, before anything runs") {
    const TinyJob job;
    const auto outcome =
        compared_text(job, {"--arm", "good:", "--arm", "typo: optimizer.lrr=3", "--arm",
                            "nobody: attention.backend=nobody", "--arm", "range: optimizer.lr=-1"});
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, contains("error: nothing was run: 3 of 4 arms cannot be compared\n"));
    CHECK_THAT(
        outcome.err,
        contains("arm \"typo\":\n    --arm: error: optimizer.lrr: unknown key; did you mean optimizer.lr?"));
    CHECK_THAT(outcome.err, contains("arm \"nobody\":\n"));
    CHECK_THAT(outcome.err, contains("arm \"range\":\n"));
    CHECK(outcome.err.find("arm \"good\"") == std::string::npos);
}

TEST_CASE("a backend that cannot serve is named with its reason") {
    const TinyJob job;
    const auto outcome = compared_text(job, {"--vary", "precision.backend=torch/fp32,torch/fp8"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("arm \"precision=torch/fp8\":\n"));
}

TEST_CASE("what is wrong with an arm's value is told with where it was written") {
    const TinyJob job;
    const Words set{"--set", "optimizer.weight_decay=0.1"};
    auto outcome = compared_text(job, with(set, {"--vary", "optimizer.lr=1e-3,-1"}));
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("    --vary: error: optimizer.lr: ") && !contains("--set #"));
    outcome = compared_text(job, {"--vary", "attention.backend=torch", "--vary", "optimizer.lr=1e-3,-1"});
    CHECK_THAT(outcome.err, contains("    --vary #2: error: optimizer.lr: ") && contains("1 of 2 arms"));
    outcome = compared_text(job, {"--arm", "a: optimizer.weight_decay=0 optimizer.lr=-1"});
    CHECK_THAT(outcome.err, contains("    --arm, value 2: error: optimizer.lr: "));
    outcome = compared_text(job, {"--set", "optimizer.lrr=1e-3", "--vary", "attention.backend=naive,torch"});
    CHECK_THAT(outcome.err, contains("--set #1: error: optimizer.lrr: ") && !contains("--vary: error"));
    job.write("job.toml", bytes_of(job.file("job.toml")) + "\n[[arm]]\nset = [\"optimizer.lr=-1\"]\n");
    outcome = compared_text(job, set);
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("job.toml:") && contains(": error: optimizer.lr: ") && !contains("--set #"));
}

TEST_CASE("a value of all arms that each arm has in another way is refused") {
    const TinyJob job;
    const Words set{"--set", "run.seed=5", "--set", "optimizer.lr=1e-4"};
    const auto outcome = compared_text(job, with(set, {"--vary", "optimizer.lr=1e-3,1e-2"}));
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("--set #2: optimizer.lr would change nothing, for every arm has a value of "
                        "its own") &&
                   !contains("run.seed"));
    CHECK(compared_text(job, with(set, {"--arm", "base:", "--arm", "faster: optimizer.lr=1e-3", "--dry-run"}))
              .code == 0);
}

TEST_CASE("arms of other batches are sent to an epoch, in which they may be compared") {
    const TinyJob job;
    const std::string epoch =
        "batch.size: 2, the base has 4\n    --operation epoch compares passes over the same samples, in "
        "whatever batches; --force compares them nevertheless, and every output says so";
    const auto outcome = compared_text(job, {"--vary", "batch.size=4,2"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains(epoch));
    const auto others =
        compared_text(job, {"--arm", "a: batch.size=4", "--arm", "b: batch.size=2 run.seed=9"});
    CHECK_THAT(others.err, contains("--force compares them") && !contains("--operation epoch"));
}

TEST_CASE("other models, data and seeds are refused, and marked where they are forced") {
    const TinyJob job;
    const Words arms{"--arm", "a:", "--arm", "b: model.layers=1 run.seed=9", "--arm", "c: optimizer.lr=1e-4"};
    const auto outcome = compared_text(job, arms);
    CHECK(outcome.code == 2);
    CHECK_THAT(
        outcome.err,
        contains("arm \"b\":\n    is not a fair comparison with \"a\":\n        run.seed: 9, the base has 3\n"
                 "        model.layers: 1, the base has 2\n    --force compares them nevertheless, and every "
                 "output says so"));
    auto forced = arms;
    forced.emplace_back("--force");
    const auto json = compared(job, forced);
    CHECK(json["forced"] == true);
    CHECK(json["arms"][1]["differs"].size() == 2);
    CHECK(json["arms"][1]["drift"]["output"].is_null());
    CHECK(json["arms"][2]["differs"].empty());
    CHECK_THAT(compared_text(job, forced).out,
               contains("NOT A FAIR COMPARISON: model.layers: 1, the base has 2"));
}

TEST_CASE("a program that is not there, nothing to compare, options that fit nothing") {
    const TinyJob job;
    auto outcome = compared_text(job, {});
    CHECK(outcome.code == 2);
    CHECK_THAT(
        outcome.err,
        contains(
            "there is nothing to compare: say --stacks naive,torch or --vary attention.backend=naive,torch"));
    outcome = compared_text(job, {"--vary", "attention.backend=naive,torch", "--loss-equivalence", "much"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("--loss-equivalence: expected a margin above 0 as 0.02"));
    outcome = compared_text(job, {"--vary", "attention.backend=naive,torch", "--seeds", "1"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("--seeds: an interval needs two seeds at least"));
    outcome = compared_text(job, {"--vary", "attention.backend=naive,torch", "--eval-samples", "5"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("--eval-samples says how many samples are evaluated after the steps of --seeds"));
    outcome = compared_text(
        job, {"--vary", "attention.backend=naive,torch", "--operation", "forward", "--eval-samples", "5"});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("--eval-samples trains to the end, which --operation forward does not"));
    job.write("plain.txt", "no program\n");
    job.write("job.toml", bytes_of(job.file("job.toml")) +
                              "\n[[arm]]\nset = []\n[[arm]]\nprogram = [\"no-such-program\"]\n[[arm]]\nname "
                              "= \"gone\"\nprogram = [\"/no/peer\"]\n"
                              "[[arm]]\nname = \"plain\"\nprogram = [\"./plain.txt\"]\n");
    outcome = compared_text(job, {});
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err,
               contains("arm \"no-such-program\":\n    there is no program no-such-program in PATH"));
    CHECK_THAT(outcome.err, contains("arm \"gone\":\n    /no/peer: no such program"));
    CHECK_THAT(outcome.err, contains("plain.txt cannot be executed"));
}

TEST_CASE("data and vocabulary that are not there are told before any process starts, once for all arms") {
    const TinyJob job;
    const auto gone = job.file("gone.tsv");
    const Words arms{"--vary", "attention.backend=naive,torch", "--dry-run"};
    CHECK(compared_text(job, arms).code == 0);
    auto outcome = compared_text(job, with(arms, {"--set", "data.train=[\"" + gone + "\"]"}));
    check_refused(outcome, {"error: nothing was run: 2 of 2 arms cannot be compared\narms "
                            "\"attention=naive\", \"attention=torch\":\n    --set #1: error: data.train: " +
                            gone + ": "});
    CHECK(outcome.err.find(gone) == outcome.err.rfind(gone));
    // An arm's own, and why it would be no fair comparison.
    outcome = compared_text(job, {"--operation", "forward", "--arm", "good:", "--arm",
                                  "bad: data.vocabulary=" + job.file("gone.txt")});
    check_refused(outcome,
                  {"1 of 2 arms cannot be compared\narm \"bad\":\n    --arm: error: data.vocabulary: " +
                       job.file("gone.txt"),
                   "is not a fair comparison with \"good\""});
}

TEST_CASE("arms on random samples read no data, and arms log nothing") {
    const TinyJob job;
    const Words arms{"--arm", "a:", "--arm", "b:", "--dry-run", "--set", "log.command=[\"no-such-program\"]"};
    CHECK(compared_text(job, arms).code == 0);
    const auto vocabulary = "data.vocabulary=" + job.file("gone.txt");
    CHECK(compared_text(job, with(arms, {"--set", "data.train=[]", "--set", vocabulary})).code == 0);
}

TEST_CASE("what the plans of several arms warn of alike is told once") {
    const TinyJob job;
    const auto outcome =
        compared_text(job, {"--set", "precision.backend=amp/fp16", "--set", "precision.loss_scaling=false",
                            "--vary", "attention.backend=flash,chunked", "--dry-run"});
    CHECK(outcome.code == 0);
    const auto warning = outcome.err.find("warning: precision.loss_scaling = false (--set #");
    REQUIRE(warning != std::string::npos);
    CHECK(outcome.err.find("precision.loss_scaling = false", warning + 10) == std::string::npos);
}

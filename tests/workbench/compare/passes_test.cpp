// `switchyard compare --operation epoch` and `--operation data`: passes over the same samples, of training
// and of the data loader alone, whatever batches they are put into.
// To add a case: arms that differ in their batches, and what must be equal nevertheless.
#include "compared.h"

using namespace switchyard::test;

namespace {

nlohmann::json passed_over(const TinyJob& job, const std::string& operation, const Words& more) {
    auto words = with({"--operation", operation, "--samples", "40"}, more);
    const auto json = compared(job, words);
    CHECK(json["operation"] == operation);
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"] << ": " << arm["reason"]);
        CHECK(arm["status"] == "ok");
        CHECK(arm["stability"]["stable"].is_null());
        for (const auto& block : arm["blocks"]) {
            CHECK(block["samples"] == 40 * json["steps_per_block"].get<int>());
            CHECK(block["tokens"] == json["arms"][0]["blocks"][0]["tokens"]);
        }
    }
    return json;
}

}  // namespace

TEST_CASE("an epoch trains on the same samples in batches of each arm's own") {
    const TinyJob job;
    const auto json =
        passed_over(job, "epoch", with(own_batches, {"--arm", "plain: attention.backend=naive"}));
    REQUIRE(json["arms"].size() == 5);
    CHECK_THAT(json["title"].get<std::string>(), contains("epochs of training, 40 samples at most a pass"));
    for (const auto& arm : json["arms"]) {
        CHECK(arm["executed"]["optimizer"][0]["phase"] == "train");
        // It has learned something by then: losses of later epochs are lower.
        CHECK(arm["losses"].back().get<double>() < arm["losses"][0].get<double>());
    }
    // Steps of the same samples are compared, others are not.
    CHECK(json["arms"][1]["drift"]["output"].is_null());
    CHECK(json["arms"][4]["drift"]["output"].get<double>() <
          json["arms"][4]["drift_allowed"]["output"].get<double>());
}

TEST_CASE("steps of an epoch are those of training: as many, with the same losses") {
    const TinyJob job;
    // 40 samples, 12 in a step: 4 steps, the last of 4 samples.
    const auto json = passed_over(job, "epoch",
                                  {"--arm", "a:", "--set", "model.dropout=0", "--set",
                                   "model.attention_dropout=0", "--set", "optimizer.lr=0", "--rounds", "1"});
    const auto forwards = passed_over(
        job, "forward", {"--arm", "a:", "--set", "model.dropout=0", "--set", "model.attention_dropout=0"});
    // Nothing is learned: the mean over steps is not far from the mean over samples, and stays what it is.
    const auto& losses = json["arms"][0]["losses"];
    CHECK(losses[0].get<double>() == Approx(forwards["arms"][0]["losses"][0].get<double>()).epsilon(0.02));
    const auto steps = compared(job, {"--arm", "a:", "--rounds", "1"});
    const auto calls = [](const nlohmann::json& of) {
        return of["arms"][0]["executed"]["optimizer"][0]["calls"].get<double>() /
               static_cast<double>(of["arms"][0]["losses"].size());
    };
    CHECK(calls(json) == 4.0 * calls(steps));
}

TEST_CASE("data loaders alone are compared, by the samples and tokens that they give") {
    const TinyJob job;
    const auto json = passed_over(job, "data", own_batches);
    CHECK_THAT(json["title"].get<std::string>(), contains("the data loader only"));
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"]);
        CHECK(arm["executed"].size() == 1);
        CHECK(arm["executed"]["data_loader"][0]["calls"].get<int>() > 0);
    }
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(json["arms"][i]["drift"]["output"] == 0.0);
        CHECK(json["pairs"][i - 1]["verdict"] != "WRONG");
    }
}

TEST_CASE("a loader that gives other tokens is WRONG, however many they are") {
    const TinyJob job;
    const auto outcome = run(compare_words(
        job,
        short_run({"--operation", "data", "--arm", "padded: data_loader.backend=batching/padded", "--arm",
                   "fixed: data_loader.backend=batching/fixed data_loader.options.fixed.length=4",
                   "--fail-on", "drift"})));
    INFO(outcome.err << outcome.out);
    CHECK(outcome.code == 5);
    CHECK_THAT(outcome.out, contains("its outputs are of another shape than the base's"));
}

TEST_CASE("operations say what they cannot do, and where that is done") {
    const TinyJob job;
    const auto refused = [&](const Words& more, const Words& parts) {
        check_refused(run(compare_words(job, more)), parts);
    };
    refused({"--operation", "epochs"},
            {"--operation", "epochs; expected step, epoch, forward, data or generate"});
    refused({"--samples", "4"}, {"--samples is for passes, as those of --operation epoch"});
    refused({"--steps", "30"}, {"--steps says how long --seeds", "--steps-per-block"});
    refused({"--operation", "epoch", "--seeds", "2"}, {"--seeds trains to the end", "--operation step"});
    refused({"--operation", "epoch", "--arm", "a:", "--arm", "cut: batch.max_length=4"},
            {"is not a fair comparison", "batch.max_length: 4"});
    const auto dropping = run(compare_words(
        job, short_run({"--operation", "epoch", "--arm", "a:", "--set", "data_loader.drop_last=true"})));
    CHECK(dropping.code == 1);
    CHECK_THAT(dropping.out, contains("data_loader.drop_last leaves samples out of an epoch"));
    add_peer(job, "peer", polite_peer("echo"));
    refused({"--operation", "data"}, {"programs take steps, forwards or prompts"});
}

// `switchyard compare --operation forward`: passes over the same samples, whatever batches they are put into.
// To add a case: arms that differ in their batches, and what must be equal nevertheless.
#include "compared.h"

using namespace switchyard::test;

namespace {

Words forward(const Words& more) {
    Words words{"--operation", "forward"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), own_batches.begin(), own_batches.end());
    return words;
}

}  // namespace

TEST_CASE("four loaders pass over the same samples in their own batches: the same loss, the same outputs") {
    const TinyJob job;
    const auto json = compared(job, forward({"--samples", "40"}));
    CHECK(json["operation"] == "forward");
    CHECK_THAT(json["title"].get<std::string>(), contains("forwards only, 40 samples at most a pass"));
    REQUIRE(json["arms"].size() == 4);
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"]);
        CHECK(arm["status"] == "ok");
        for (const auto& block : arm["blocks"]) {
            CHECK(block["samples"] == 40 * json["steps_per_block"].get<int>());
            CHECK(block["tokens"] == json["arms"][0]["blocks"][0]["tokens"]);
        }
        CHECK(arm["losses"][0].get<double>() ==
              Approx(json["arms"][0]["losses"][0].get<double>()).epsilon(1e-5));
        CHECK(arm["stability"]["stable"].is_null());
        CHECK(arm["drift"]["gradient"].is_null());
        CHECK(arm["executed"]["attention"][0]["phase"] == "eval");
    }
    for (std::size_t i = 1; i < 4; ++i) {
        const auto& arm = json["arms"][i];
        CHECK(arm["drift"]["output"].get<double>() < arm["drift_allowed"]["output"].get<double>());
        CHECK(json["pairs"][i - 1]["verdict"] != "WRONG");
    }
}

TEST_CASE("a pass is over all samples where the job has no more, and over words where each is predicted") {
    const TinyJob job;
    const auto words = forward({"--set", "task.kind=masked_lm", "--samples", "5000"});
    const auto json = compared(job, words);
    for (const auto& arm : json["arms"]) {
        INFO(arm["name"] << ": " << arm["reason"]);
        CHECK(arm["status"] == "ok");
        CHECK(arm["blocks"][0]["samples"] == json["arms"][0]["blocks"][0]["samples"]);
        if (arm != json["arms"][0]) CHECK(arm["drift"]["loss"].get<double>() < 1e-4);
    }
    CHECK_THAT(compared_text(job, words).out, contains("ms a pass [95 %]") && contains("1 pass after"));
}

TEST_CASE("arms that cut samples to other lengths are no fair comparison of forwards") {
    const TinyJob job;
    const auto outcome = run(compare_words(
        job, short_run({"--operation", "forward", "--arm", "a:", "--arm", "cut: batch.max_length=4"})));
    CHECK(outcome.code == 2);
    CHECK_THAT(outcome.err, contains("is not a fair comparison") && contains("batch.max_length: 4"));
}

TEST_CASE("a program is given the samples of a pass as one step of several batches") {
    const TinyJob job;
    const auto told = job.file("told.json");
    add_peer(job, "peer", "read -r line; printf '%s\\n' \"$line\" >" + told + R"(
echo '{"type": "report", "loss": 0.7, "operation": "forward"}'
while read -r line; do
    case $line in
        *'"run"'*) n=${line##*:}; n=${n%\}}; list=1e-6; losses=0.5; i=1
            while [ $i -lt $n ]; do list="$list,1e-6"; losses="$losses,0.5"; i=$((i+1)); done
            echo "{\"type\": \"report\", \"step_ms\": [$list], \"loss\": [$losses], \"samples\": $((40*n)), \"tokens\": $((40*n))}" ;;
        *) exit 0 ;;
    esac
done
)");
    const auto json = compared(job, {"--operation", "forward", "--samples", "40"});
    CHECK(json["arms"][1]["status"] == "ok");
    const auto message = json_of(told);
    CHECK(message["operation"] == "forward");
    CHECK(message["batches"].is_string());
}

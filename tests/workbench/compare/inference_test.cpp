// The coordinator of a bench of inference with made-up arms, on a clock that only their answers move;
// and what is said of their turns: latencies, tails, rates, shares, ratios, the table of caches, JSON
// and page. To add a case: say in InferringArm what one does, run it, look at the result.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>

#include <nlohmann/json.hpp>

#include "core/workbench/compare/inference/cache_table.h"
#include "core/workbench/compare/inference/inference_experiment.h"
#include "core/workbench/compare/inference/inference_page.h"
#include "core/workbench/compare/inference/inference_report.h"

#include "balanced.h"
#include "json_schema.h"

#include <switchyard_test.h>

using namespace switchyard::bench;
using namespace switchyard::compare;
using switchyard::test::Approx;
using switchyard::test::contains;
using switchyard::test::unbalanced;

namespace {

nlohmann::ordered_json calls_of(const std::string& plugin, const std::string& phase) {
    return {{"component", plugin}, {"plugin", plugin}, {"phase", phase}, {"calls", 8}};
}

struct InferringArm {
    std::string name = "arm";
    double prefill_ms = 40.0;
    std::function<double(int token)> token_ms = [](int) { return 10.0; };
    double pass_ms = 100.0;  // of a forward
    std::int64_t token = 3;  // that it always writes
    std::int64_t prompt_tokens = 128;
    double wall_factor = 1.0;  // of the times that it reports
    bool crashes = false, cached = true, external = false, reduced = false;
    double drift = 1e-7;
    std::string dtype = "float32";
    Operation operation = Operation::generate;
    std::function<std::function<double(int token)>(int start)>
        later;          // token_ms of each start after the first
    int starts = 1000;  // that succeed
    std::function<double(int turn)> others_share = [](int) { return -1.0; };
};

class InferringClient final : public ArmClient {
public:
    InferringClient(InferringArm arm, std::vector<Workload> workloads)
        : arm_(std::move(arm)), workloads_(std::move(workloads)) {}

    Exchange request(const std::string& line, double) override {
        const auto message = nlohmann::json::parse(line);
        if (message["type"] == "prepare") return prepare();
        if (arm_.crashes) return {Exchange::End::exited, "ended with exit code 9", 1.0};
        const auto& workload = workloads_[message["workload"].get<std::size_t>()];
        const auto passes = message["steps"].get<std::int64_t>();
        return arm_.operation == Operation::generate ? generate(workload, passes) : forward(workload, passes);
    }
    void kill() override {}

private:
    Exchange prepare() const {
        Ready ready;
        ready.operation = arm_.operation;
        ready.dtype = arm_.dtype;
        ready.first_step_written = true;
        ready.weight_bytes = 1'000'000;
        ready.reduced = arm_.reduced;
        ready.amplification = Drift{1.0, 1.0, 1.0};
        return {Exchange::End::answered, to_message(ready).dump(), 500.0};
    }

    Exchange generate(const Workload& workload, std::int64_t passes) {
        Generation generation;
        double wall = 0.0;
        for (std::int64_t pass = 0; pass < passes; ++pass) {
            auto& times = generation.token_ms.emplace_back();
            double all = arm_.prefill_ms;
            for (std::int64_t token = 1; token < workload.tokens; ++token) {
                times.push_back(arm_.token_ms(token_++));
                all += times.back();
            }
            generation.prefill_ms.push_back(arm_.prefill_ms);
            generation.step_ms.push_back(all);
            wall += all;
        }
        generation.generated.assign(
            static_cast<std::size_t>(workload.batch),
            std::vector<std::int64_t>(static_cast<std::size_t>(workload.tokens), arm_.token));
        generation.prompt_tokens = arm_.prompt_tokens;
        generation.read_bytes = 90'000'000;
        generation.cache_bytes = arm_.cached ? 20'000'000 : 0;
        generation.others_share = arm_.others_share(turn_++);
        generation.executed = {{"attention", {calls_of("torch", "prefill"), calls_of("flash", "decode")}},
                               {"linear", {calls_of("gemm", "prefill"), calls_of("gemm", "decode")}}};
        return {Exchange::End::answered, to_message(generation).dump(), wall * arm_.wall_factor};
    }

    Exchange forward(const Workload& workload, std::int64_t passes) const {
        Turn turn;
        turn.step_ms.assign(static_cast<std::size_t>(passes), arm_.pass_ms);
        turn.loss.assign(static_cast<std::size_t>(passes), 0.0);
        turn.samples = workload.batch * passes;
        turn.tokens = arm_.prompt_tokens * passes;
        turn.executed = nlohmann::ordered_json::object();
        return {Exchange::End::answered, to_message(turn).dump(),
                arm_.pass_ms * static_cast<double>(passes) * arm_.wall_factor};
    }

    InferringArm arm_;
    std::vector<Workload> workloads_;
    int token_ = 0, turn_ = 0;
};

Workload workload(std::int64_t batch, std::int64_t length, std::int64_t tokens) {
    return {batch, {length, length, 0}, tokens};
}

InferenceResult benched(const std::vector<InferringArm>& arms, InferenceSettings settings) {
    settings.operation = arms.front().operation;
    settings.vocabulary = 10;
    settings.prepare = [](std::size_t, int) { return nlohmann::ordered_json{{"type", "prepare"}}; };
    settings.drift = [&](std::size_t arm, std::size_t) { return arms[arm].drift; };
    settings.peaks = [] {
        Peaks peaks;
        peaks.read_gbytes_per_second = 20.0;
        return peaks;
    };
    std::vector<int> starts(arms.size(), 1);
    if (settings.rounds > 1) {
        settings.start = [&](std::size_t at, std::string& error) -> std::unique_ptr<ArmClient> {
            auto arm = arms[at];
            if (starts[at] == arm.starts) return error = "no memory", nullptr;
            if (arm.later) arm.token_ms = arm.later(starts[at]);
            ++starts[at];
            return std::make_unique<InferringClient>(arm, settings.workloads);
        };
    }
    std::vector<StartedArm> started;
    for (const auto& arm : arms) {
        ArmSpec spec;
        spec.name = arm.name;
        spec.cached = arm.cached;
        if (arm.external) spec.program = {"peer"};
        started.push_back({spec, std::make_unique<InferringClient>(arm, settings.workloads), ""});
    }
    return run_inference(std::move(started), settings);
}

InferenceSettings generating(std::vector<Workload> workloads = {workload(2, 64, 5)}) {
    InferenceSettings settings;
    settings.workloads = std::move(workloads);
    settings.blocks = 8;
    return settings;
}

}  // namespace

TEST_CASE("generation: first token and each token apart, rates and tails") {
    InferringArm arm;
    arm.token_ms = [](int token) { return token % 10 == 9 ? 50.0 : 10.0; };
    const auto result = benched({arm}, generating());
    const auto& found = result.arms[0].results[0];
    CHECK(result.blocks[0] == 8);
    CHECK(found.first_token.ms.median == 40.0);
    CHECK(found.next_token.ms.median == 10.0);
    CHECK(found.next_token.p95 == 50.0);
    CHECK(found.next_token.count == 8 * 4);
    CHECK(found.decode_tokens_per_second == Approx(200.0));
    CHECK(found.prefill_tokens_per_second == Approx(128 / 0.040));
    // 90 MB of weights, and of 20 MB of cache what half way through is there: (64 + 69) / 2 of 69 tokens.
    const double bytes = 90e6 + 20e6 * (64.0 + 69.0) / 2.0 / 69.0;
    CHECK(found.read_gbytes_per_second == Approx(bytes / 10e-3 / 1e9));
    CHECK(found.read_share == Approx(bytes / 10e-3 / 20e9));
    CHECK(result.pairs.empty());
    CHECK(result.exit_code() == 0);
}

TEST_CASE("who read the prompts and who chose what follows is told") {
    const auto result = benched({InferringArm{}}, generating());
    const std::string told = "prefill: attention torch, linear gemm; decode: attention flash, linear gemm";
    CHECK_THAT(to_text(result), contains("\nwhat ran\n  arm: " + told + "\n"));
    CHECK_THAT(inference_page(result, {}), contains(told));
    const auto attention = to_json(result)["arms"][0]["results"][0]["executed"]["attention"];
    CHECK(attention[0]["phase"] == "prefill");
    CHECK(attention[0]["plugin"] == "torch");
    CHECK(attention[1]["phase"] == "decode");
    CHECK(attention[1]["plugin"] == "flash");
}

TEST_CASE("of prompts of unequal lengths a token reads what all of them left in the cache") {
    InferringArm arm;
    arm.prompt_tokens = 40;  // of two
    const auto result = benched({arm}, generating({Workload{2, {8, 128, 0}, 64}}));
    const auto& found = result.arms[0].results[0];
    // From 20 tokens a row to 84, of the 192 that there is room for.
    const double bytes = 90e6 + 20e6 * (20.0 + 84.0) / 2.0 / 192.0;
    CHECK(found.read_gbytes_per_second == Approx(bytes / 10e-3 / 1e9));
}

TEST_CASE("forwards: latency of a pass, sequences and tokens a second") {
    InferringArm arm;
    arm.operation = Operation::forward;
    auto settings = generating({workload(4, 32, 0)});
    const auto result = benched({arm}, settings);
    const auto& found = result.arms[0].results[0];
    CHECK(found.pass.ms.median == 100.0);
    CHECK(found.samples_per_second == Approx(40.0));
    CHECK(found.tokens_per_second == Approx(1280.0));
    CHECK_FALSE(found.first_token.known());
}

TEST_CASE("arms are compared by their tokens after the first, and by their prompts apart") {
    InferringArm base, fast;
    base.name = "base";
    fast.name = "fast";
    fast.token_ms = [](int) { return 5.0; };
    const auto result = benched({base, fast}, generating());
    REQUIRE(result.pairs.size() == 1);
    CHECK(result.pairs[0].decode->median == Approx(2.0));
    CHECK(result.pairs[0].prefill->median == Approx(1.0));
    CHECK(result.pairs[0].pass.median == Approx(80.0 / 60.0));
    CHECK(result.pairs[0].verdict == SpeedVerdict::faster);
    CHECK(result.arms[1].results[0].same_tokens == 1.0);
    CHECK(sentence(result, result.pairs[0]) ==
          "2 x 64 + 5: fast is FASTER, 2.00 [2.00, 2.00] times as fast as base");
}

TEST_CASE(
    "outputs further off than rounding explains are wrong, unless accuracy is reduced by its own word") {
    InferringArm base, far, low;
    far.name = "far";
    far.drift = 0.1;
    far.token = 4;
    low = far;
    low.name = "low";
    low.reduced = true;
    auto result = benched({base, far, low}, generating());
    CHECK(result.pairs[0].verdict == SpeedVerdict::wrong);
    CHECK_THAT(result.pairs[0].reason, contains("its outputs are 1.0e-1 from the base's"));
    CHECK(result.pairs[1].verdict == SpeedVerdict::same);
    CHECK(result.arms[1].results[0].same_tokens == 0.0);
    CHECK(result.exit_code() == 5);
    far.dtype = "bfloat16";
    far.drift = 0.01;
    result = benched({base, far}, generating());
    CHECK(result.pairs[0].verdict == SpeedVerdict::same);
}

TEST_CASE("an arm that fails keeps its row; one that read other sequences, or claims too much, has failed") {
    InferringArm good, gone, other, liar;
    gone.name = "gone";
    gone.crashes = true;
    other.name = "other";
    other.prompt_tokens = 100;
    liar.name = "liar";
    liar.wall_factor = 0.5;
    const auto result = benched({good, gone, other, liar}, generating());
    CHECK(result.arms[0].ok());
    CHECK(result.arms[1].status == ArmStatus::crashed);
    CHECK(result.arms[1].reason == "ended with exit code 9 while it warmed up");
    CHECK(result.arms[2].reason == "it reports 100 tokens of the sequences; arm has 128");
    CHECK(result.arms[3].reason == "it reports 80 ms for 1 pass; its turn took 40 ms");
    CHECK(result.exit_code() == 1);
    CHECK_THAT(to_text(result), contains("gone: crashed") && contains("ended with exit code 9"));
}

TEST_CASE("an arm whose times leave out much of its turns is timed from outside") {
    InferringArm arm;
    arm.wall_factor = 2.0;
    const auto result = benched({arm}, generating());
    CHECK(result.arms[0].results[0].by_coordinator);
    CHECK(result.arms[0].results[0].pass.ms.median == Approx(160.0));
    const auto page = inference_page(result, {});
    for (const auto& told : {to_text(result), page})
        CHECK_THAT(told, contains("timed from outside: the times"));
    // What is known of it is drawn: each token takes its part of a pass.
    CHECK_THAT(page, contains("Throughput against latency") && contains("ms for each token"));

    // Whatever it says of its tokens, it is judged by its passes.
    InferringArm base, quick = arm;
    base.name = "base";
    quick.name = "quick";
    quick.token_ms = [](int) { return 0.001; };
    const auto pair = benched({base, quick}, generating());
    REQUIRE(pair.arms[1].results[0].by_coordinator);
    CHECK_FALSE(pair.arms[1].results[0].next_token.known());
    CHECK(std::isnan(pair.arms[1].results[0].decode_tokens_per_second));
    CHECK(pair.pairs[0].speedup.median == Approx(pair.pairs[0].pass.median));
    CHECK_FALSE(pair.pairs[0].decode);
}

TEST_CASE("what differs from start to start of an arm is no difference of the arms") {
    InferringArm base, lucky;
    base.name = "base";
    lucky.name = "lucky";
    // Its first start is 4 % faster than the base's, the others are up to 3 % slower.
    lucky.token_ms = [](int) { return 9.6; };
    lucky.later = [](int start) { return [start](int) { return 10.0 + 0.1 * (start % 4); }; };
    const std::vector<InferringArm> arms{base, lucky};
    auto settings = generating({workload(1, 64, 5), workload(8, 64, 5)});
    settings.blocks = 20;
    settings.rounds = 1;
    const auto once = benched(arms, settings);
    CHECK(once.pairs[0].verdict == SpeedVerdict::faster);
    CHECK_THAT(to_text(once), contains("each arm was started once"));
    settings.rounds = 5;
    const auto result = benched(arms, settings);
    CHECK(result.rounds == 5);
    CHECK(result.blocks == std::vector<int>{20, 20});
    for (const auto& pair : result.pairs) CHECK(pair.verdict == SpeedVerdict::cannot_tell);
    CHECK(result.arms[1].results[1].blocks[19]->round == 4);
    CHECK_THAT(to_text(result), contains("each arm was started 5 times") && contains("2 comparisons (Holm)"));
}

TEST_CASE("an arm that cannot be started again has failed, and the others go on") {
    InferringArm base, once;
    once.name = "once";
    once.starts = 2;
    auto settings = generating();
    settings.rounds = 4;
    const auto result = benched({base, once}, settings);
    CHECK(result.arms[0].ok());
    CHECK(result.rounds == 4);
    CHECK_FALSE(result.arms[1].ok());
    CHECK_THAT(result.arms[1].reason, contains("no memory"));
    CHECK(result.exit_code() == 1);
}

TEST_CASE("the p that decides is corrected for the number of workloads") {
    InferringArm base, other;
    std::vector<Workload> workloads;
    for (int i = 0; i < 12; ++i) workloads.push_back(workload(1 + i, 64, 5));
    other.name = "other";
    int turn = 0;
    other.token_ms = [&turn](int) {
        const int at = turn++;
        return 10.0 + 0.05 * ((at * 7919) % 13 - 6);
    };
    const auto result = benched({base, other}, generating(workloads));
    for (const auto& pair : result.pairs) CHECK(pair.p_corrected >= pair.p);
    CHECK(std::any_of(result.pairs.begin(), result.pairs.end(),
                      [](const auto& pair) { return pair.p_corrected > pair.p; }));
}

TEST_CASE("a block of inference in which others had the processor is repeated, and that is told") {
    InferringArm base, disturbed;
    base.name = "base";
    // Two turns warm up; what is repeated took five times as long.
    disturbed.others_share = [](int turn) { return turn == 4 || turn == 6 ? 0.4 : 0.02; };
    disturbed.token_ms = [](int token) {
        const int turn = token / 4;
        return turn == 4 || turn == 6 ? 50.0 : 10.0;
    };
    const auto result = benched({base, disturbed}, generating());
    CHECK(result.repeated_blocks == 2);
    CHECK(result.blocks[0] == 8);
    for (const auto& arm : result.arms) {
        const auto& found = arm.results[0];
        CHECK(found.blocks.size() == 10);
        CHECK(std::count_if(found.blocks.begin(), found.blocks.end(),
                            [](const auto& block) { return block->repeated; }) == 2);
        CHECK(found.pass_ms.size() == 8);
        CHECK(found.next_token.count == 8 * 4);
        CHECK(found.next_token.p99 == 10.0);
    }
    CHECK(result.pairs.at(0).blocks == 8);
    const auto told = "2 blocks repeated, for others had the processor";
    CHECK_THAT(to_text(result), contains(told) && !contains("others took up to"));
    CHECK_THAT(inference_page(result, {}), contains(told));
    CHECK(to_json(result)["repeated_blocks"] == 2);
}

TEST_CASE("where others always have the processor a bench of inference ends, and tells their share") {
    InferringArm arm;
    arm.others_share = [](int) { return 0.4; };
    const auto result = benched({arm}, generating());
    CHECK(result.repeated_blocks == 2);
    CHECK(result.blocks[0] == 8);
    CHECK_THAT(to_text(result), contains("others took up to 40 % of the processors"));
    CHECK_THAT(inference_page(result, {}), contains("others took up to 40 % of the processors"));
}

TEST_CASE("no verdict contradicts the medians that are shown beside it: the disagreement is told") {
    InferringArm base, arm;
    base.name = "base";
    base.token_ms = [](int) { return 10.0; };
    arm.token_ms = [](int) { return 9.0; };
    auto result = benched({base, arm}, generating());
    REQUIRE(result.pairs.at(0).verdict == SpeedVerdict::faster);
    // Its tokens in all blocks, those of outliers included, are slower than the base's.
    auto& shown = result.arms[1].results[0];
    shown.token_ms.insert(shown.token_ms.end(), 100, 11.0);
    result.pairs.clear();
    summarise_inference(result, 0.02);
    CHECK(shown.next_token.ms.median == 11.0);
    const auto& pair = result.pairs.at(0);
    CHECK(pair.verdict == SpeedVerdict::cannot_tell);
    CHECK(pair.reason ==
          "the typical block and the medians disagree: by the medians it is 0.909 times as fast, by the "
          "typical "
          "block 1.11 times as fast");
    CHECK_THAT(sentence(result, pair), contains("CANNOT TELL") && contains(pair.reason));
}

TEST_CASE("the time that is allowed decides how many blocks there are") {
    auto settings = generating({workload(1, 64, 5), workload(8, 64, 5)});
    settings.blocks = 0;
    settings.time_ms = 4000;
    const auto result = benched({InferringArm{}}, settings);
    // A pass takes 80 ms, two of them to warm up.
    CHECK(result.passes_per_block[0] == 1);
    CHECK(result.blocks[0] == 23);
    CHECK(result.blocks[1] == 23);
    settings.time_ms = 1;
    CHECK(benched({InferringArm{}}, settings).blocks[0] == 6);
}

TEST_CASE("with a cache and without: the ratio, and the tokens of work by their sums") {
    CHECK(tokens_without_cache(16, 1) == 16);
    CHECK(tokens_without_cache(16, 3) == 16 + 17 + 18);
    CHECK(tokens_with_cache(16, 1) == 16);
    CHECK(tokens_with_cache(16, 3) == 18);
    CHECK(tokens_without_cache(1, 1000) == 500'500);
    InferringArm cached, whole;
    cached.name = "gpt";
    whole.name = "gpt, no cache";
    whole.cached = false;
    whole.token_ms = [](int) { return 40.0; };
    const auto result = benched({cached, whole}, generating({workload(1, 16, 5)}));
    const auto rows = cache_rows(result);
    REQUIRE(rows.size() == 1);
    CHECK(rows[0].speedup.median == Approx(200.0 / 80.0));
    CHECK(rows[0].tokens_ratio == Approx((16 + 17 + 18 + 19 + 20) / 20.0));
    CHECK(std::isnan(result.arms[1].results[0].read_share));
    CHECK_THAT(to_text(result), contains("with a cache and without") && contains("20, 90"));
    CHECK_THAT(inference_page(result, {}), contains("What the cache saves"));
}

TEST_CASE(
    "the page is whole and well formed, whatever arms are called, and shows throughput against latency") {
    std::vector<InferringArm> arms(3);
    arms[1].name = "<script>alert(1)</script>";
    arms[1].external = true;
    arms[2].name = "gone";
    arms[2].crashes = true;
    const auto result =
        benched(arms, generating({workload(1, 64, 5), workload(8, 64, 5), workload(8, 8, 5)}));
    const auto page =
        inference_page(result, {"a <title>", "a.toml", "f00", "switchyard bench", {{"Host", "x"}}});
    CHECK(unbalanced(page) == "");
    CHECK(page.size() < 500'000);
    CHECK_THAT(page, contains("Throughput against latency") && contains("ms for each token") &&
                         contains("&lt;script&gt;") && !contains("<script"));
    CHECK_THAT(page, contains("gone: crashed"));
    // Nobody disturbed it: the sentence before ends there.
    CHECK_THAT(page, !contains("; ."));
    CHECK_THAT(to_text(result), !contains(";\n"));
}

TEST_CASE("the JSON follows its schema") {
    std::vector<InferringArm> arms(2);
    arms[1].name = "gone";
    arms[1].crashes = true;
    auto json = nlohmann::json::parse(to_json(benched(arms, generating())).dump());
    for (const char* key : {"title", "config", "config_fingerprint", "command"}) json[key] = "x";
    json["threads"] = 2;
    json["host"] = {{"name", "x"}, {"cpu_model", "y"}, {"cores", 2}, {"libtorch_version", "2"}};
    const switchyard::test::JsonSchema schema(switchyard::test::source_dir() /
                                              "docs/schema/bench_inference.json");
    CHECK(schema.faults(json) == std::vector<std::string>{});
    CHECK(json["arms"][1]["results"][0].is_null());
}

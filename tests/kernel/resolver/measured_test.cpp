// What `auto` makes of measurements: no clock and no plugin here. To add a case of the rule: a row in
// `races`; of the classes: a change of a request.
#include "fakes.h"

#include <limits>

#include "core/kernel/resolver/measured.h"

#include <nlohmann/json.hpp>

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::resolver;
using namespace switchyard::test;

namespace {

const std::string here = "this machine, 2 threads";

std::vector<Candidate> three_measured() {
    return {candidate<AttentionRequest>("naive/naive", 10), candidate<AttentionRequest>("torch/torch", 50),
            candidate<AttentionRequest>("flash/flash", 90)};
}

MeasuredCandidate timed(const std::string& plugin, double ms) {
    return {plugin + "/" + plugin, "hash-of-" + plugin, "{}", ms, ms, ms, ""};
}

MeasuredCandidate failed(const std::string& plugin, const std::string& why) {
    auto made = timed(plugin, std::numeric_limits<double>::quiet_NaN());
    made.failure = why;
    return made;
}

SlotUse attention() { return use(attention_request(), {"auto"}); }

Measurement measured(std::vector<MeasuredCandidate> candidates, const std::string& host = here) {
    return {shape_class(Kind::attention, *attention().request), host, "2026-11-21", std::move(candidates)};
}

PlanRow plan_with(std::vector<Measurement> measurements,
                  const std::vector<Candidate>& candidates = three_measured(),
                  const SlotUse& of = attention()) {
    return resolve(of, candidates, test_host(), {.chooser = MeasuredChoice{std::move(measurements), here}});
}

const std::string unmeasured_how = "auto: by priority (not measured on this host)";

}  // namespace

TEST_CASE("auto takes the fastest, and the highest priority of those within 3 % of it") {
    struct Race {
        double naive, torch, flash;
        std::string chosen, how;
    };
    const Race races[] = {
        {40.0, 4.6, 3.1, "flash", "auto: measured 3.1 ms against torch 4.6 ms (fastest of 3), 2026-11-21"},
        {40.0, 3.1, 4.6, "torch", "auto: measured 3.1 ms against flash 4.6 ms (fastest of 3), 2026-11-21"},
        {1.0, 2.0, 3.0, "naive", "auto: measured 1 ms against torch 2 ms (fastest of 3), 2026-11-21"},
        {9.0, 9.71, 10.0, "naive", "auto: measured 9 ms against torch 9.71 ms (fastest of 3), 2026-11-21"},
        {9.0, 9.75, 9.2, "flash", "auto: measured 9.2 ms, within 3 % of naive 9 ms: by priority, 2026-11-21"},
        {9.71, 9.8, 10.1, "torch",
         "auto: measured 9.8 ms, within 3 % of naive 9.71 ms: by priority, 2026-11-21"},
        {9.7, 20.0, 10.0, "naive", "auto: measured 9.7 ms against flash 10 ms (fastest of 3), 2026-11-21"},
        {9.71, 20.0, 10.0, "flash",
         "auto: measured 10 ms, within 3 % of naive 9.71 ms: by priority, 2026-11-21"},
    };
    for (const auto& race : races) {
        const auto row = plan_with(
            {measured({timed("naive", race.naive), timed("torch", race.torch), timed("flash", race.flash)})});
        INFO(race.naive << " " << race.torch << " " << race.flash);
        CHECK(row.chosen->component == race.chosen);
        CHECK(row.how == race.how);
        REQUIRE(row.measured);
        CHECK(row.measured->candidates.size() == 3);
    }
}

TEST_CASE("the plan tells what was timed where it is not what the class says") {
    auto sampled = measured({timed("naive", 1.0), timed("torch", 2.0), timed("flash", 3.0)});
    sampled.sample = "4 sequences";
    CHECK(plan_with({sampled}).how ==
          "auto: measured 1 ms against torch 2 ms (fastest of 3), on 4 sequences, 2026-11-21");
}

TEST_CASE("who is not surely slower than the fastest is chosen by priority") {
    auto torch = timed("torch", 5.0), flash = timed("flash", 8.0);
    torch.low = 0.05, torch.high = 100.0;  // a disturbed measurement
    CHECK(plan_with({measured({timed("naive", 40.0), torch, flash})}).how ==
          "auto: measured 8 ms, not surely slower than torch 5 ms: by priority, 2026-11-21");
    torch.high = 7.9;
    CHECK(plan_with({measured({timed("naive", 40.0), torch, flash})}).chosen->component == "torch");
}

TEST_CASE("the plan tells the times of those that were passed over, and who was out") {
    const auto row =
        plan_with({measured({failed("naive", "it threw: no"), timed("torch", 4.6), timed("flash", 3.1)})});
    CHECK(outcome(row, "torch/torch").why_not == "measured 4.6 ms, chosen: 3.1 ms");
    CHECK(outcome(row, "naive/naive").why_not == "out when it was measured: it threw: no");
    CHECK(outcome(row, "flash/flash").why_not.empty());

    const auto alone = plan_with(
        {measured({failed("naive", "no"), failed("torch", "out is not finite"), timed("flash", 3.1)})});
    CHECK(alone.how == "auto: measured 3.1 ms (fastest of 3), 2026-11-21");
    const auto none =
        plan_with({measured({failed("naive", "no"), failed("torch", "no"), failed("flash", "no")})});
    CHECK(none.how == "auto: by priority (each failed when it was measured)");
    CHECK(none.chosen->component == "flash");
}

TEST_CASE("a measurement of another host, class, library or option is as good as none") {
    const auto good = measured({timed("naive", 1.0), timed("torch", 2.0), timed("flash", 3.0)});
    REQUIRE(plan_with({good}).chosen->component == "naive");

    auto other_host = good;
    other_host.host = "another machine";
    auto other_class = good;
    other_class.shape_class += ", dropout";
    auto other_library = good;
    other_library.candidates[1].library = "an older build";
    auto other_option = good;
    other_option.candidates[0].options = R"({"chunk_size":64})";
    auto one_less = good;
    one_less.candidates.pop_back();
    for (const auto& stale : {other_host, other_class, other_library, other_option, one_less}) {
        const auto row = plan_with({stale});
        CHECK(row.how == unmeasured_how);
        CHECK(row.chosen->component == "flash");
        CHECK_FALSE(row.measured);
        CHECK(plan_with({stale, good}).chosen->component == "naive");
    }
}

TEST_CASE("what is timed is a class with its candidates and their options, whoever built them") {
    const auto of = [](const std::vector<MeasuredCandidate>& candidates) {
        return subject("attention float32", candidates);
    };
    const auto naive = timed("naive", 1.0), torch = timed("torch", 2.0);
    auto rebuilt = timed("torch", 7.0), chunked = torch;
    rebuilt.library = "a newer build";
    chunked.options = R"({"chunk_size":9})";
    const auto both = of({naive, torch});
    CHECK(of({torch, naive}) == both);
    CHECK(of({naive, rebuilt}) == both);
    CHECK(of({naive, chunked}) != both);
    CHECK(of({naive}) != both);
    CHECK(subject("attention bfloat16", {naive, torch}) != both);
}

TEST_CASE("a measurement is taken up instead of an earlier one of the same on its host, and of no other") {
    std::vector<Measurement> list;
    take_up(list, measured({timed("naive", 1.0), timed("torch", 2.0)}));
    take_up(list, measured({timed("naive", 1.0), timed("torch", 2.0)}, "another machine"));
    take_up(list, measured({timed("naive", 1.0)}));
    CHECK(list.size() == 3);
    take_up(list, measured({timed("torch", 4.0), timed("naive", 3.0)}));
    REQUIRE(list.size() == 3);
    CHECK(list[0].host == "another machine");
    CHECK(list[2].candidates[0].ms == 4.0);
}

TEST_CASE("of measurements that hold the one of just these candidates counts, and of those the latest") {
    const auto all =
        measured({timed("naive", 1.0), timed("torch", 2.0), timed("flash", 3.0), timed("gone", 0.1)});
    const auto exact = measured({timed("naive", 3.0), timed("torch", 1.0), timed("flash", 2.0)});
    auto later = measured({timed("naive", 3.0), timed("torch", 2.0), timed("flash", 1.0)});
    later.date = "2026-12-01";
    CHECK(plan_with({all, exact}).chosen->component == "torch");
    CHECK(plan_with({exact, all}).chosen->component == "torch");
    CHECK(plan_with({later, exact}).chosen->component == "flash");
    CHECK(plan_with({exact, later, all}).chosen->component == "flash");
}

TEST_CASE("candidates that are no longer there, or do not conform, do not matter") {
    const auto all =
        measured({timed("naive", 1.0), timed("torch", 2.0), timed("flash", 3.0), timed("gone", 0.1)});
    CHECK(plan_with({all}).how == "auto: measured 1 ms against torch 2 ms (fastest of 3), 2026-11-21");
    auto reduced = three_measured();
    reduced[0].manifest.accuracy = Accuracy::reduced;
    const auto row = plan_with({all}, reduced);
    CHECK(row.chosen->component == "torch");
    CHECK_FALSE(outcome(row, "naive/naive").ok);
    auto allowed = attention();
    allowed.config.allow_reduced = true;
    CHECK(plan_with({all}, reduced, allowed).chosen->component == "naive");
}

TEST_CASE("what leaves no choice, or is not measured, is told as such") {
    CHECK(plan_with({}, {three_measured()[1]}).how == "auto: the only one that serves it");
    CHECK(plan_with({}).how == unmeasured_how);
    CHECK(plan_with({}, three_measured(), use(attention_request(), {"torch"})).how == "named");
    const auto by_priority =
        resolve(attention(), three_measured(), test_host(), {.chooser = by_rank_because("runtime.auto")});
    CHECK(by_priority.how == "auto: by priority (runtime.auto)");
    CHECK(outcome(by_priority, "torch/torch").why_not == "lower priority (50, chosen: 90)");
}

TEST_CASE("a class is what decides which kernel is fastest, and no more") {
    const auto base = attention_request();
    const auto of = [](const AttentionRequest& request) { return shape_class(Kind::attention, request); };
    CHECK(
        of(base) ==
        "attention float32 cpu padded train, needs_grad, batch 8, heads 16, head groups of 1, q_length 512, "
        "kv_length 512, head_dim 64, v_head_dim 64");
    const auto changed = [&](auto change) {
        auto request = base;
        change(request);
        return of(request);
    };
    const std::vector<std::string> same{changed([](auto& r) {
                                            r.batch = {1, 7};
                                        }),
                                        changed([](auto& r) {
                                            r.q_length = {4, 300};
                                        }),
                                        changed([](auto& r) { r.heads = r.kv_heads = 16; }),
                                        changed([](auto& r) { r.allow_reduced = true; }),
                                        changed([](auto& r) { r.custom_scale = true; })};
    for (const auto& text : same) CHECK(text == of(base));
    const std::vector<std::string> different{changed([](auto& r) {
                                                 r.batch = {1, 9};
                                             }),
                                             changed([](auto& r) { r.q_length = 256; }),
                                             changed([](auto& r) { r.kv_heads = 4; }),
                                             changed([](auto& r) { r.head_dim = 65; }),
                                             changed([](auto& r) { r.dropout = 0.1; }),
                                             changed([](auto& r) { r.masks.insert(MaskKind::causal); }),
                                             changed([](auto& r) { r.dtype = DType::bfloat16; }),
                                             changed([](auto& r) { r.phase = Phase::eval; }),
                                             changed([](auto& r) { r.needs_grad = false; }),
                                             changed([](auto& r) { r.layout = Layout::packed; }),
                                             changed([](auto& r) { r.query_offsets = true; }),
                                             changed([](auto& r) { r.want_lse = true; })};
    for (const auto& text : different) CHECK(text != of(base));
    CHECK(changed([](auto& r) { r.dropout = 0.1; }) == changed([](auto& r) { r.dropout = 0.2; }));
    auto with_lse = base;
    with_lse.want_lse = true;
    CHECK(not_measured_because(Kind::attention, base).empty());
    CHECK(not_measured_because(Kind::attention, with_lse) == "the log-sum-exp is not measured");
}

TEST_CASE("of a linear layer the sizes of the weight count as they are, rows by powers of two") {
    LinearRequest base;
    base.rows = {1, 2000};
    base.in = 768;
    base.out = 3000;
    base.bias = true;
    const auto of = [](const LinearRequest& request) { return shape_class(Kind::linear, request); };
    CHECK(of(base) ==
          "linear float32 cpu padded train, rows 2048, in 768, out 3000, weight_dtype float32, "
          "output_dtype float32, weight_format dense, bias");
    const auto changed = [&](auto change) {
        auto request = base;
        change(request);
        return of(request);
    };
    CHECK(changed([](auto& r) { r.rows = {1, 2048}; }) == of(base));
    for (const auto& text : {changed([](auto& r) { r.rows = 2049; }), changed([](auto& r) { r.in = 769; }),
                             changed([](auto& r) { r.out = 3001; }), changed([](auto& r) { r.bias = false; }),
                             changed([](auto& r) { r.needs_grad = true; }),
                             changed([](auto& r) { r.output_dtype = DType::bfloat16; })})
        CHECK(text != of(base));
}

TEST_CASE("linear layers are measured where the bench can tell what is right") {
    const auto why = [](auto change) {
        LinearRequest request;
        change(request);
        return not_measured_because(Kind::linear, request);
    };
    CHECK(why([](auto&) {}) == "");
    CHECK(why([](auto& r) {
              r.dtype = r.weight_dtype = DType::bfloat16;
              r.output_dtype = DType::float32;
          }) == "");
    CHECK(why([](auto& r) {
              r.weight_format = WeightFormat::scaled;
              r.dtype = r.weight_dtype = DType::float8_e4m3fn;
              r.output_dtype = DType::bfloat16;
          }) == "products of scaled operands are not measured");
    CHECK(why([](auto& r) { r.out = 0; }) == "a layer without values is not measured");
    CHECK(why([](auto& r) { r.output_dtype = DType::bfloat16; }) ==
          "products of several dtypes are not measured");
    CHECK(why([](auto& r) { r.weight_dtype = DType::bfloat16; }) ==
          "products of several dtypes are not measured");
    CHECK(why([](auto& r) { r.device = Device::cuda; }) == "");
}

TEST_CASE("a measurement is read back as it was written; what is none is told") {
    auto chunked = timed("chunked", 4.25);
    chunked.options = R"({"chunk_size":256})";
    chunked.low = chunked.high = std::numeric_limits<double>::quiet_NaN();
    auto written = measured({chunked, failed("naive", "it threw: \"no\"")});
    written.sample = "4 sequences";
    const auto text = measurement_text(written);
    const auto read = read_measurement(text);
    CHECK(read.error.empty());
    CHECK(measurement_text(read.measurement) == text);
    CHECK(read.measurement.shape_class == written.shape_class);
    CHECK(read.measurement.host == here);
    CHECK(read.measurement.sample == "4 sequences");
    CHECK(read.measurement.candidates[0].ms == 4.25);
    CHECK(read.measurement.candidates[0].low != read.measurement.candidates[0].low);
    CHECK(read.measurement.candidates[0].options == chunked.options);
    CHECK_FALSE(read.measurement.candidates[1].timed());

    CHECK_FALSE(read_measurement("").error.empty());
    CHECK_THAT(read_measurement("{\"a\":" + std::string(60'000, '[') + std::string(60'000, ']') + "}").error,
               switchyard::test::contains("more than 64 lists and objects inside each other"));
    CHECK_FALSE(read_measurement(text.substr(0, text.size() / 2)).error.empty());
    CHECK_FALSE(read_measurement("{\"switchyard_measurement\": 1}").error.empty());
    auto json = nlohmann::ordered_json::parse(text);
    json["switchyard_measurement"] = 7;
    CHECK(read_measurement(json.dump()).error == "it is of version 7, this program reads version 1");
    json = nlohmann::ordered_json::parse(text);
    json.erase("sample");  // what an earlier build kept
    CHECK(read_measurement(json.dump()).measurement.sample.empty());
    json["candidates"][0]["ms"] = -1.0;
    CHECK(read_measurement(json.dump()).error == "a time is not above 0");
}

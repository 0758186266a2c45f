// switchyard bench, as a user runs it. What a time is cannot be tested; what is said of it can.
// To add a case of bad input: a line in the table of "what cannot be meant".
#include <sstream>

#include <nlohmann/json.hpp>

#include "json_schema.h"
#include "progress_lines.h"
#include "run_switchyard.h"

#include <switchyard_test.h>

using namespace switchyard::test;

namespace {

using Words = std::vector<std::string>;

// Small shapes, few samples, one thread: what else runs on the machine then matters little.
Words quick(Words words) {
    words.insert(words.begin(), "bench");
    words.insert(words.end(), {"--blocks", "3", "--time-budget", "0.1", "--threads", "1"});
    return words;
}

RunOptions with_errors() {
    const auto plugins = (build_dir() / "lib/switchyard/plugins").string();
    RunOptions options;
    options.environment["SWITCHYARD_PLUGIN_PATH"] =
        plugins + ":" + (build_dir() / "tests/support/plugins/errs").string();
    return options;
}

const Words small_attention{"attention", "--shape", "2,2,24,16", "--dtype", "float32", "--causal"};

Words attention(const Words& more) {
    Words words = small_attention;
    words.insert(words.end(), more.begin(), more.end());
    return quick(words);
}

}  // namespace

TEST_CASE("every bench prints JSON that fits its schema, with plausible numbers") {
    const JsonSchema schema(source_dir() / "docs/schema/bench.json");
    const Words kinds[] = {
        {"attention", "--shape", "2,2,24,16", "--dtype", "float32,bfloat16", "--causal", "--pass",
         "forward_backward"},
        {"attention", "--shape", "2,4,2,20,24,16", "--dtype", "float32", "--dropout", "0.2", "--pass",
         "forward_backward"},
        {"attention", "--shape", "3,2,24,16", "--dtype", "float32", "--layout", "packed", "--lengths",
         "3-24"},
        {"normalization", "--shape", "48,32", "--dtype", "float32", "--bias", "--residual", "--pass",
         "forward_backward"},
        {"activation", "--shape", "48,32", "--dtype", "float32", "--activation", "swiglu"},
        {"loss", "--shape", "32,50", "--dtype", "float32", "--pass", "forward", "--z-loss", "1e-3",
         "--label-smoothing", "0.1"},
        {"loss", "--shape", "32,50", "--dtype", "float32,bfloat16", "--in-place"},
        {"loss", "--shape", "32,50,16", "--dtype", "float32", "--pass", "forward_backward"},
        {"optimizer", "--shape", "3x16x16,7", "--clip", "1"},
        {"linear", "--shape", "48,32,40", "--dtype", "float32,bfloat16", "--bias", "--pass",
         "forward,backward,forward_backward", "--backends", "naive,torch"},
        {"linear", "--shape", "3,40,72", "--dtype", "bfloat16", "--parameter-dtype", "bfloat16", "--backends",
         "naive,torch"}};
    for (const Words& kind : kinds) {
        INFO(kind[0] << " " << kind[2]);
        const auto json = run_json(quick(kind));
        CHECK(schema.faults(json) == no_faults);
        REQUIRE(json["rows"].size() >= 2);
        for (const auto& row : json["rows"]) {
            INFO(row.dump());
            CHECK(row["op"] == kind[0]);
            if (row["backend"] == "aten" || row["backend"] == "cudnn") continue;  // serve devices only
            CHECK(row["status"] == "ok");
            CHECK(row["ms"]["median"].get<double>() > 0.0);
            CHECK(row["ms"]["low"] <= row["ms"]["median"]);
            CHECK(row["error"].get<double>() <= row["error_allowed"].get<double>());
            CHECK(row["extra_memory_bytes"].get<std::int64_t>() >= 0);
            CHECK_FALSE(row["executed"].empty());
            CHECK(row["percent_of_copy_bandwidth"].get<double>() > 0.0);
        }
        CHECK(json["peaks"]["copy_gbytes_per_second"].get<double>() > 0.0);
    }
}

TEST_CASE("rows name what really ran, and speedups are over the base") {
    const auto json =
        run_json(attention({"--backends", "naive,torch@math", "--base", "naive", "--pass", "forward"}));
    REQUIRE(json["rows"].size() == 2);
    CHECK(json["rows"][0]["backend"] == "naive");
    CHECK(json["rows"][0]["speedup_over_base"]["median"] == 1.0);
    CHECK(json["rows"][1]["backend"] == "torch@math");
    CHECK(json["rows"][1]["plugin"] == "torch");
    CHECK(json["rows"][1]["variant"] == "math");
    CHECK(json["rows"][1]["base"] == "naive");
    CHECK(json["rows"][1]["causal"] == true);
}

TEST_CASE("a base by another spelling is the same one, and a swept base is its first value") {
    const auto rows =
        run_json(attention({"--backends", "torch/torch,naive,naive/naive", "--pass", "forward"}))["rows"];
    REQUIRE(rows.size() == 2);
    CHECK(rows[0]["backend"] == "torch/torch");
    CHECK(rows[0]["speedup_over_base"]["median"] == 1.0);
    CHECK(rows[1]["backend"] == "naive");
    CHECK(rows[1]["base"] == "torch/torch");

    const auto shown = run(attention(
        {"--backends", "chunked", "--base", "chunked", "--pass", "forward", "--sweep", "chunk_size=16,32"}));
    INFO(shown.out << shown.err);
    CHECK(shown.code == 0);
    CHECK(shown.out.find("no ratios") == std::string::npos);
    CHECK_THAT(shown.out, contains("1 (base)"));
    CHECK(shown.out.find("1 (base)") == shown.out.rfind("1 (base)"));
    CHECK_THAT(shown.out, contains("FASTER, SLOWER: "));
}

TEST_CASE("a linear layer is set against products, one of few rows against reading its weight") {
    const auto first_row = [](const std::string& shape, const std::string& pass) {
        return run_json(quick({"linear", "--shape", shape, "--dtype", "float32", "--pass", pass, "--backends",
                               "naive", "--base", "naive"}))["rows"][0];
    };
    const auto flops = [](const nlohmann::json& row) {
        return row["gflops"].get<double>() * row["ms"]["median"].get<double>() * 1e6;
    };
    const auto bytes = [](const nlohmann::json& row) {
        return row["gbytes_per_second"].get<double>() * row["ms"]["median"].get<double>() * 1e6;
    };
    const auto forward = first_row("24,32,40", "forward");
    CHECK(flops(forward) == Approx(2.0 * 24 * 32 * 40));
    CHECK(bytes(forward) == Approx(4.0 * (24 * 32 + 32 * 40 + 24 * 40)));
    CHECK(flops(first_row("24,32,40", "backward")) == Approx(4.0 * 24 * 32 * 40));
    CHECK(flops(first_row("24,32,40", "forward_backward")) == Approx(6.0 * 24 * 32 * 40));
    const Words words{"--dtype", "float32", "--pass", "forward", "--backends", "naive", "--base", "naive"};
    const auto shown = [&](const std::string& shape) {
        Words all{"linear", "--shape", shape};
        all.insert(all.end(), words.begin(), words.end());
        return run(quick(all)).out;
    };
    CHECK_THAT(shown("24,32,40"), contains("of peak"));
    CHECK_THAT(shown("1,32,40"), contains("of read"));
}

TEST_CASE("of a large linear layer a part is checked") {
    const auto row = run_json(quick({"linear", "--shape", "1100,1024,1030", "--dtype", "float32", "--pass",
                                     "forward_backward", "--bias", "--backends", "torch"}))["rows"][0];
    CHECK(row["status"] == "ok");
    CHECK(row["error_part"] == "1018 of 1100 rows, 953 of 1030 outputs");
}

TEST_CASE("the table holds what the JSON holds, in 110 columns") {
    const auto shown = run(attention({"--backends", "naive,torch"}));
    CHECK(shown.code == 0);
    CHECK(without_progress(shown.err).empty());
    CHECK_THAT(shown.out, contains("attention 2,2,24,16  float32  causal  forward\n"));
    CHECK_THAT(shown.out, contains("attention 2,2,24,16  float32  causal  forward_backward\n"));
    CHECK_THAT(shown.out, contains("1 (base)"));
    CHECK_THAT(shown.out, contains("peaks in this run: float32 products"));
    std::istringstream lines(shown.out);
    for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 110);
}

TEST_CASE("the same seed checks the same numbers") {
    const auto error = [](const char* seed) {
        return run_json(attention({"--backends", "naive", "--base", "naive", "--pass", "forward", "--seed",
                                   seed}))["rows"][0]["error"];
    };
    CHECK(error("3") == error("3"));
    CHECK(error("3") != error("4"));
}

TEST_CASE("a backend that ignores the mask is marked WRONG and ends with code 5") {
    const auto words = attention({"--backends", "unmasked,naive", "--base", "naive"});
    const auto shown = run(words, with_errors());
    CHECK(shown.code == 5);
    CHECK_THAT(shown.out, contains("test_errs/unmasked"));
    CHECK_THAT(shown.out, contains("WRONG"));
    CHECK_THAT(shown.out, contains("from the float64 oracle, allowed are"));
    const auto json = run_json(words, 5, with_errors());
    CHECK(json["rows"][0]["status"] == "ok");
    CHECK(json["rows"][1]["status"] == "wrong");
    CHECK(json["rows"][1]["error"].get<double>() > 1000.0 * json["rows"][1]["error_allowed"].get<double>());
}

TEST_CASE("a backend that throws is a row with what it said, and the others go on") {
    const auto words = attention({"--backends", "throwing,naive", "--base", "naive", "--pass", "forward"});
    const auto shown = run(words, with_errors());
    CHECK(shown.code == 1);
    CHECK_THAT(shown.out, contains("throwing  failed"));
    CHECK_THAT(shown.out, contains("the kernel is out of order"));
    const auto json = run_json(words, 1, with_errors());
    CHECK(json["rows"][0]["status"] == "ok");
    CHECK(json["rows"][1]["status"] == "failed");
    CHECK(json["rows"][1]["ms"].is_null());
}

TEST_CASE("a backend that refuses is a row with its reasons, and the others go on") {
    Words words = quick({"attention", "--shape", "1,2,8,16", "--dtype", "float64", "--pass", "forward",
                         "--backends", "unmasked,naive", "--base", "naive"});
    const auto shown = run(words, with_errors());
    CHECK(shown.code == 0);
    CHECK_THAT(shown.out, contains("unmasked  refused"));
    CHECK_THAT(shown.out, contains("dtype: expected float32, got float64"));
    const auto json = run_json(words, 0, with_errors());
    CHECK(json["rows"][1]["reasons"][0]["code"] == "dtype");
    CHECK(json["rows"][0]["speedup_over_base"]["median"] == 1.0);
}

TEST_CASE("when all refuse, the code is 2") {
    const auto words = quick({"attention", "--shape", "1,2,8,16", "--dtype", "float64", "--backends",
                              "unmasked", "--base", "unmasked"});
    CHECK(run(words, with_errors()).code == 2);
}

TEST_CASE("what cannot be meant is one message and code 2, before anything runs") {
    const std::pair<Words, const char*> cases[] = {
        {{"bench", "atention"}, "error: there is no bench of \"atention\"; did you mean attention?\n"},
        {{"bench", "attention", "--shape", "8,x,512,64"},
         "error: --shape 8,x,512,64: 'x' is not a whole number; attention takes"},
        {{"bench", "attention", "--shape", "8,0,512,64"}, "a dimension must be 1 or more, not 0"},
        {{"bench", "linear", "--shape", "2048,768"},
         "error: --shape 2048,768: 2 numbers; linear takes ROWS,IN,OUT\n"},
        {{"bench", "linear", "--pass", "step"},
         "error: --pass step: linear has the passes forward, backward and forward_backward\n"},
        {{"bench", "linear", "--norm", "rms_norm"},
         "error: --norm is for bench normalization, overhead; bench linear does not use it\n"},
        {{"bench", "loss", "--residual"},
         "error: --residual is for bench normalization, overhead; bench loss"},
        {{"bench", "loss", "--dropout", "0.1"},
         "error: --dropout is for bench attention, normalization, activation, overhead; bench loss does"},
        {{"bench", "normalization", "--z-loss", "0.1"}, "error: --z-loss is for bench loss, overhead; "},
        {{"bench", "normalization", "--activation", "silu"},
         "error: --activation is for bench activation, overhead; "},
        {{"bench", "loss", "--bias"},
         "error: --bias is for bench normalization, activation, linear, overhead; bench loss does not use"},
        {{"bench", "liner"}, "error: there is no bench of \"liner\"; did you mean linear?\n"},
        {{"bench", "attention", "--dtype", "float23"},
         "error: --dtype float23: expected one of float32, float64, bfloat16, float16; did you mean "
         "float32?\n"},
        {{"bench", "attention", "--dtype", "int8"},
         "error: --dtype int8: expected one of float32, float64, bfloat16, float16"},
        {{"bench", "attention", "--backends", "nave"},
         "there is no attention called \"nave\"; did you mean \"naive\"?"},
        {{"bench", "attention", "--base", "nave"}, "error: --base nave: "},
        {{"bench", "attention", "--mask", "casual"},
         "error: --mask casual: 'casual' is not a mask; known: causal"},
        {{"bench", "attention", "--dropout", "1"},
         "error: --dropout: expected a probability below 1, got 1.00\n"},
        {{"bench", "attention", "--layout", "paddd"},
         "error: --layout paddd: expected one of padded, packed; did you mean padded?\n"},
        {{"bench", "attention", "--pass", "step"},
         "error: --pass step: attention has the passes forward, backward and forward_backward\n"},
        {{"bench", "optimizer", "--pass", "forward"}, "error: --pass forward: optimizer has the pass step\n"},
        {{"bench", "attention", "--blocks", "0"}, "--blocks"},
        {{"bench", "attention", "--set", "attention.bakend=naive"}, "did you mean"},
        {{"bench", "layer"},
         "error: there is no bench layer: whole training steps are timed by `switchyard compare CONFIG "
         "--stacks A,B`\n"},
        {{"bench", "step"}, "error: there is no bench step: "},
        {{"bench", "overhead", "--pass", "forward"},
         "error: --pass is for bench attention, normalization, activation, loss, optimizer, linear; bench "
         "overhead "
         "does not use it\n"},
        {{"bench", "overhead", "--sweep", "length=1,2"}, "error: --sweep is for bench attention, "},
        {{"bench", "attention", "--set", "run.device=cuda"},
         "error: run.device: bench times on the CPU; expected cpu, got cuda\n"},
        {{"bench"}, "WHAT"},
    };
    for (const auto& [words, message] : cases) {
        const auto shown = run(words);
        INFO(message);
        CHECK(shown.code == 2);
        CHECK(shown.out.empty());
        CHECK_THAT(shown.err, contains(message));
    }
}

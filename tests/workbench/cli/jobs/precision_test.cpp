// `switchyard precision`: what it says of a job, held against what the policy and the model must do. To add a
// policy: a line in the table of "a policy is seen".
#include <fstream>
#include <set>

#include "json_schema.h"
#include "longest_line.h"
#include "tiny_job.h"

#include <switchyard_test.h>

using namespace switchyard::test;
using nlohmann::json;

namespace {

json seen(const TinyJob& job, const Words& more = {}) {
    Words words{"precision", job.file("job.toml"), "--steps", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return run_json(words);
}

const json& operation(const json& report, const std::string& layer, const std::string& operation,
                      const std::string& pass) {
    for (const auto& one : report["operations"]) {
        if (one["layer"] == layer && one["operation"] == operation && one["pass"] == pass) return one;
    }
    FAIL("there is no " << pass << " of " << operation << " in " << layer);
    return report;
}

const json& tensor(const json& operation, const std::string& name) {
    for (const auto& one : operation["tensors"]) {
        if (one["name"] == name) return one;
    }
    FAIL("there is no tensor " << name << " in " << operation["layer"]);
    return operation;
}

// The first line has the configuration's path, however long that is.
std::string without_first_line(const std::string& text) { return text.substr(text.find('\n') + 1); }

}  // namespace

TEST_CASE("every layer and operation is seen, forward, backward and in the optimizer") {
    const TinyJob job;
    const auto report = seen(job);
    CHECK(JsonSchema(source_dir() / "docs/schema/precision.json").faults(report) == Words{});
    CHECK(report["steps"] == 2);
    CHECK(report["not_finite"] == 0);
    for (const std::string layer : {"encoder.0", "encoder.1"}) {
        for (const std::string pass : {"forward", "backward"}) {
            for (const char* linear : {".attention.q", ".attention.k", ".attention.v", ".attention.out",
                                       ".feed_forward.in", ".feed_forward.out"}) {
                CHECK(operation(report, layer + linear, "linear", pass)["calls"] == 2 * 3);
            }
            CHECK(operation(report, layer + ".attention", "attention", pass)["calls"] == 6);
            CHECK(operation(report, layer + ".attention.norm", "normalization", pass)["calls"] == 6);
            CHECK(operation(report, layer + ".feed_forward", "activation", pass)["calls"] == 6);
        }
    }
    CHECK(operation(report, "loss", "loss", "backward")["calls"] == 6);
    const auto& step = operation(report, "encoder.1.attention.q.weight", "optimizer", "step");
    CHECK(step["calls"] == 2);
    CHECK(tensor(step, "value")["values"]["count"] == 2 * tiny_hidden * tiny_hidden);
    CHECK(tensor(step, "exp_avg_sq")["role"] == "state");
}

TEST_CASE("what is seen of a layer are its values") {
    const TinyJob job;
    const auto report = seen(job, {"--set", "model.dropout=0", "--set", "model.activation=relu"});
    // relu: half the outputs are zeros, none is larger than the largest input
    const auto& relu = operation(report, "encoder.0.feed_forward", "activation", "forward");
    const auto& x = tensor(relu, "x")["values"];
    const auto& y = tensor(relu, "y")["values"];
    CHECK(x["count"] == y["count"]);
    CHECK(y["zeros"].get<double>() > 0.2 * y["count"].get<double>());
    CHECK(y["largest"].get<double>() <= x["largest"].get<double>());
    // weights of deviation 0.02 lie in E4M3's subnormal range and below, and fit into all of bf16
    const auto& weight =
        tensor(operation(report, "encoder.0.attention.q", "linear", "forward"), "weight")["values"];
    CHECK(weight["formats"]["bf16"]["subnormal"] == 0);
    CHECK(weight["formats"]["E4M3"]["subnormal"].get<double>() > 0.3 * weight["count"].get<double>());
    CHECK(weight["formats"]["E4M3"]["flushed"].get<int>() > 0);
    CHECK(weight["formats"]["fp16"]["overflow"] == 0);
}

TEST_CASE("a policy is seen where it computes, not where it is configured") {
    struct Policy {
        std::string backend, linear, attention, normalization;
        Words more = {};
        std::string loss = attention;
    };
    const TinyJob job;
    for (const Policy& policy :
         {Policy{"torch/fp32", "fp32", "fp32", "fp32"}, Policy{"amp/bf16", "bf16", "bf16", "fp32"},
          Policy{"amp/bf16_products", "bf16", "fp32", "fp32", {}, "bf16"},
          // gemm multiplies float16 numbers in float32.
          Policy{"amp/fp16",
                 "fp32",
                 "fp16",
                 "fp32",
                 {"--set", "precision.loss_scaling=true", "--set", "linear.backend=gemm"}}}) {
        INFO(policy.backend);
        Words more{"--set", "precision.backend=" + policy.backend};
        more.insert(more.end(), policy.more.begin(), policy.more.end());
        const auto report = seen(job, more);
        CHECK(report["precision"] == policy.backend);
        for (const std::string pass : {"forward", "backward"}) {
            const auto& linear = operation(report, "encoder.0.feed_forward.out", "linear", pass);
            if (linear["gradient"] == "kernel" || pass == "forward")
                CHECK((linear["computed_in"].empty() || linear["computed_in"] == json{policy.linear}));
            CHECK(tensor(linear, pass == "forward" ? "weight" : "grad weight")["dtypes"] == json{"fp32"});
        }
        const auto& attention = operation(report, "encoder.0.attention", "attention", "forward");
        CHECK(tensor(attention, "q")["dtypes"] == json{policy.attention});
        CHECK(tensor(attention, "out")["dtypes"] == json{policy.attention});
        const auto& norm = operation(report, "encoder.1.attention.norm", "normalization", "forward");
        CHECK(tensor(norm, "x")["dtypes"] == json{policy.normalization});
        CHECK(tensor(operation(report, "loss", "loss", "forward"), "x")["dtypes"] == json{policy.loss});
        const double scale = report["loss_scales"][0];
        CHECK(scale == (policy.backend == "amp/fp16" ? 65536.0 : 1.0));
    }
}

TEST_CASE("a plugin says in which formats its own kernels compute") {
    const TinyJob job;
    const auto report =
        seen(job, {"--set", "normalization.backend=fused", "--set", "optimizer.backend=fused"});
    CHECK(JsonSchema(source_dir() / "docs/schema/precision.json").faults(report) == Words{});
    for (const std::string pass : {"forward", "backward"}) {
        const auto& norm = operation(report, "encoder.1.attention.norm", "normalization", pass);
        CHECK(norm["own_kernels_in"] == json{"fp32"});
        CHECK(operation(report, "encoder.1.feed_forward", "activation", pass)["own_kernels_in"].empty());
    }
    const auto& step = operation(report, "encoder.1.attention.q.weight", "optimizer", "step");
    CHECK(step["own_kernels_in"] == json{"fp32"});
    CHECK(operation(report, "encoder.0.feed_forward", "activation", "forward")["computed_in"] ==
          json{"fp32"});
    const auto told =
        run({"precision", job.file("job.toml"), "--steps", "1", "--set", "normalization.backend=fused",
             "--set", "optimizer.backend=fused", "--set", "precision.backend=fp8", "--set",
             "precision.options.fp8={cpu_reference=true, min_intensity=0, keep_first=0}"});
    INFO(told.out << told.err);
    CHECK(told.code == 0);
    CHECK_THAT(told.out, contains("E4M3 as fp32"));
    CHECK_THAT(told.out, contains("E5M2 as fp32"));
    CHECK(longest_line(without_first_line(told.out)) <= 110);
}

TEST_CASE("a layer that is to be kept but is none is told with the nearest name") {
    const TinyJob job;
    const auto planned = [&](const std::string& kept) {
        return run({"plan", job.file("job.toml"), "--set", "precision.backend=amp/bf16", "--set",
                    "precision.options.\"amp/bf16\".keep=[\"" + kept + "\"]"});
    };
    const auto outcome = planned("encodr.0");
    CHECK(outcome.code != 0);
    CHECK_THAT(outcome.out + outcome.err,
               contains("amp/bf16: option keep: \"encodr.0\" is the name of no layer; did you mean "
                        "\"encoder.0\"?"));
    for (const char* const kept : {"encoder.0", "*.attention.out", "encoder.1.feed_forward", "classifier"}) {
        INFO(kept);
        CHECK(planned(kept).code == 0);
    }
}

TEST_CASE("a run that kept what is no layer, before that was looked at, is predicted with") {
    const TinyJob job;
    job.trained("run", {"precision.backend=amp/bf16", "train.steps=1",
                        R"(precision.options."amp/bf16".keep=["encoder.0"])"});
    auto text = bytes_of(job.file("run/config.toml"));
    const std::string kept = "\"encoder.0\"";
    REQUIRE(text.find(kept) != std::string::npos);
    job.write("run/config.toml", text.replace(text.find(kept), kept.size(), "\"encodr.0\""));
    CHECK(run({"predict", job.run_folder("run"), "a warm film"}).code == 0);
}

TEST_CASE("an exception by layer stands on its own line") {
    const TinyJob job;
    const auto told =
        run({"precision", job.file("job.toml"), "--steps", "1", "--set", "precision.backend=amp/bf16",
             "--set", "precision.options.\"amp/bf16\".keep=[\"encoder.1\"]"});
    CHECK(told.code == 0);
    CHECK_THAT(told.out, contains("encoder.0.attention "));
    CHECK_THAT(told.out, contains("encoder.1.attention "));
}

TEST_CASE("tables are legible: repeated layers folded unless asked, never wider than 110 columns") {
    const TinyJob job;
    const auto folded = run({"precision", job.file("job.toml"), "--steps", "1"});
    CHECK(folded.code == 0);
    CHECK(folded.err.empty());
    CHECK_THAT(folded.out, contains("encoder.0-1.attention.q"));
    CHECK_THAT(folded.out, contains("smallest subnormal"));
    CHECK(folded.out.find("encoder.0.attention.q") == std::string::npos);
    const auto all = run({"precision", job.file("job.toml"), "--steps", "1", "--per-layer", "--tensors"});
    CHECK_THAT(all.out, contains("encoder.0.attention.q"));
    CHECK_THAT(all.out, contains("fwd weight"));
    CHECK(longest_line(without_first_line(folded.out)) <= 110);
    CHECK(longest_line(without_first_line(all.out)) <= 110);
}

TEST_CASE("values that are not finite end it with the code for numerics") {
    const TinyJob job;
    const auto told = run({"precision", job.file("job.toml"), "--steps", "4", "--set", "optimizer.lr=1e36"});
    CHECK(told.code == 5);
    CHECK_THAT(told.err, contains("values are not finite in steps that were not skipped"));
    CHECK_THAT(told.out, contains("not finite"));
}

TEST_CASE("the table of formats needs no job") {
    const auto told = run({"precision", "--formats"});
    CHECK(told.code == 0);
    for (const char* text : {"E4M3", "448", "57344", "65504", "5.96046e-08", "tf32"})
        CHECK_THAT(told.out, contains(text));
    const auto report = run_json({"precision", "--formats"});
    CHECK(JsonSchema(source_dir() / "docs/schema/precision.json").faults(report) == Words{});
    CHECK(report.size() == 1);
    const auto none = run({"precision"});
    CHECK(none.code == 2);
    CHECK_THAT(none.err, contains("CONFIG is required, except with --formats"));
    const auto steps = run({"precision", "--formats", "--steps", "0"});
    CHECK(steps.code == 2);
}

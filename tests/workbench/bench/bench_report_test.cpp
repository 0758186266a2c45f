// The bench's tables and JSON, from rows that are made up. To add a case: change a row of `sample()`.
#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/bench_report.h"

#include "longest_line.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;
using switchyard::test::contains;
using switchyard::test::longest_line;

namespace {

BenchRow row(const std::string& plugin, const Interval& ms, const Interval& speedup) {
    BenchRow row;
    row.settings.causal = true;
    row.shape = "8,12,512,64";
    row.pass = Pass::forward_backward;
    row.asked = row.plugin = row.component = plugin;
    row.variant = "math";
    row.executed = {{"math", 120}};
    row.base = "torch";
    row.ms = ms;
    row.speedup = speedup;
    row.blocks = 9;
    row.gflops = 181.5;
    row.percent_of_peak = 61.7;
    row.gbytes_per_second = 2.0;
    row.percent_of_copy_bandwidth = 4.0;
    row.percent_of_read_bandwidth = 5.0;
    row.extra_memory_bytes = 48000000;
    row.error = {1.2e-7, 4.5e-7, "rms of out", "", false};
    return row;
}

BenchReport sample() {
    BenchReport report;
    report.rows = {row("torch", {41.23, 40.9, 41.7}, {1, 1, 1}),
                   row("naive", {182.1, 180, 184.4}, {0.226, 0.221, 0.23})};
    report.rows[1].outliers = 2;
    report.peaks.matmul_gflops[DType::float32] = 294.0;
    report.peaks.matmul_of[DType::float32] = "mm of 2048 x 2048";
    report.peaks.copy_gbytes_per_second = 52.1;
    report.peaks.read_gbytes_per_second = 60.4;
    report.peaks.buffer_bytes = 134217728;
    report.host.cpu_model = "some processor";
    report.host.libtorch_version = "2.11.0";
    report.command = "switchyard bench attention";
    report.seed = 7;
    report.threads = 2;
    report.allocator = "caching";
    report.elapsed_ms = 12345;
    return report;
}

BenchRow refused() {
    BenchRow row;
    row.settings.causal = true;
    row.shape = "8,12,512,64";
    row.pass = Pass::forward_backward;
    row.asked = "flash";
    row.base = "torch";
    row.status = RowStatus::refused;
    row.reasons = {{Code::HeadDim, "head_dim", "a multiple of 8", "20", "pad it"},
                   {Code::DType, "dtype", "bfloat16 or float16", "float64", ""}};
    return row;
}

}  // namespace

TEST_CASE("a group is a table with time, rate, memory, speedup and error") {
    const std::string text = to_text(sample());
    CHECK_THAT(text, contains("attention 8,12,512,64  float32  causal  forward_backward\n"));
    CHECK_THAT(text, contains("torch@math  41.2 [40.9, 41.7]       182   61.7 %  48.0 MB  1 (base)         "
                              "             1.2e-7 / 4.5e-7\n"));
    CHECK_THAT(text, contains("naive@math  182 [180, 184]          182   61.7 %  48.0 MB  0.226 [0.221, "
                              "0.230]  SLOWER  1.2e-7 / 4.5e-7\n"));
    CHECK_THAT(text, contains("9 blocks, 2 of 18 samples left out as outliers"));
    CHECK_THAT(text,
               contains("float32 products 294 GFLOP/s (mm of 2048 x 2048), copy 52.1 GB/s, read 60.4 GB/s"));
    CHECK_THAT(text,
               contains("some processor, 2 threads, LibTorch 2.11.0, caching allocator; seed 7; 12.3 s"));
    CHECK(longest_line(text) <= 110);
}

TEST_CASE("numbers of any length leave a table within 110 columns") {
    BenchReport report = sample();
    for (const double slower : {10.0, 1000.0, 1e6, 1e12}) {
        INFO("times " << slower);
        for (BenchRow& row : report.rows) {
            row.ms = {182.1 * slower, 180.2 * slower, 184.4 * slower};
            row.gflops = 181.5 * slower;
            row.speedup = Interval{0.226 / slower, 0.221 / slower, 0.230 / slower};
        }
        const std::string text = to_text(report);
        CHECK(longest_line(text) <= 110);
        CHECK_THAT(text, contains(base::digits(report.rows[1].ms.median)));
        CHECK_THAT(text, contains("1.2e-7 / 4.5e-7"));
    }
    // One space less between columns, before a row takes two lines.
    for (BenchRow& row : report.rows) row.ms = {1821, 1802, 1844};
    report.rows[1].speedup = Interval{0.0226, 0.0221, 0.0230};
    CHECK_THAT(to_text(report), contains("naive@math 1821 [1802, 1844] "));
}

TEST_CASE("operations bound by memory are set against copy bandwidth") {
    BenchReport report = sample();
    for (BenchRow& row : report.rows) row.memory_bound = true;
    CHECK_THAT(to_text(report), contains("GB/s  of copy"));
    CHECK_THAT(to_text(report), contains("2.00    4.0 %"));
    for (auto& row : report.rows) row.reads_only = true;
    CHECK_THAT(to_text(report), contains("GB/s  of read"));
    CHECK_THAT(to_text(report), contains("2.00    5.0 %"));
}

TEST_CASE("a refused backend is a row with all its reasons") {
    BenchReport report = sample();
    report.rows.push_back(refused());
    const std::string text = to_text(report);
    CHECK_THAT(text, contains("flash       refused\n"));
    CHECK_THAT(text, contains("  head_dim: expected a multiple of 8, got 20 (pad it)\n"));
    CHECK_THAT(text, contains("  dtype: expected bfloat16 or float16, got float64\n"));
    CHECK(report.exit_code() == 0);
    const auto json = to_json(report)["rows"][2];
    CHECK(json["status"] == "refused");
    CHECK(json["reasons"][0]["code"] == "head_dim");
    CHECK(json["ms"].is_null());
}

TEST_CASE("a backend whose error is above what is allowed is marked, and ends with code 5") {
    BenchReport report = sample();
    report.rows[1].status = RowStatus::wrong;
    report.rows[1].error = {0.3, 4.5e-7, "max of grad q", "", false};
    const std::string text = to_text(report);
    CHECK_THAT(text, contains("WRONG  3.0e-1 / 4.5e-7"));
    CHECK_THAT(text, contains("the max of grad q is 3.0e-1 from the float64 oracle"));
    CHECK(longest_line(text) <= 110);
    CHECK(report.exit_code() == 5);
}

TEST_CASE("exit codes say what became of the backends") {
    BenchReport report;
    CHECK(report.exit_code() == 2);
    report.rows = {refused()};
    CHECK(report.exit_code() == 2);
    report.rows.push_back(row("torch", {1, 1, 1}, {1, 1, 1}));
    CHECK(report.exit_code() == 0);
    report.rows[0].status = RowStatus::failed;
    CHECK(report.exit_code() == 1);
}

TEST_CASE("JSON has the keys of the contract, with numbers as numbers") {
    const auto json = to_json(sample());
    const auto& first = json["rows"][1];
    CHECK(first["op"] == "attention");
    CHECK(first["backend"] == "naive");
    CHECK(first["plugin"] == "naive");
    CHECK(first["dtype"] == "float32");
    CHECK(first["shape"] == "8,12,512,64");
    CHECK(first["causal"] == true);
    CHECK(first["dropout"] == 0.0);
    CHECK(first["pass"] == "forward_backward");
    CHECK(first["ms"]["median"] == 182.1);
    CHECK(first["ms"]["low"] == 180.0);
    CHECK(first["ms"]["high"] == 184.4);
    CHECK(first["base"] == "torch");
    CHECK(first["speedup_over_base"]["median"] == 0.226);
    CHECK(first["gflops"] == 181.5);
    CHECK(first["percent_of_peak"] == 61.7);
    CHECK(first["gbytes_per_second"] == 2.0);
    CHECK(first["percent_of_copy_bandwidth"] == 4.0);
    CHECK(first["percent_of_read_bandwidth"] == 5.0);
    CHECK(first["extra_memory_bytes"] == 48000000);
    CHECK(first["error"] == 1.2e-7);
    CHECK(first["error_allowed"] == 4.5e-7);
    CHECK(first["executed"][0]["calls"] == 120);
    CHECK(json["peaks"]["matmul_gflops"]["float32"] == 294.0);
    CHECK(json["peaks"]["copy_gbytes_per_second"] == 52.1);
    CHECK(json["seed"] == 7);
    CHECK(json["command"] == "switchyard bench attention");
    CHECK(json["host"]["cpu_model"] == "some processor");
}

TEST_CASE("what was not measured is null, never a number") {
    BenchReport report = sample();
    report.rows[0].speedup.reset();
    report.rows[0].gflops = std::nan("");
    report.rows[0].ms.low = std::nan("");
    const auto json = to_json(report)["rows"][0];
    CHECK(json["speedup_over_base"].is_null());
    CHECK(json["gflops"].is_null());
    CHECK(json["ms"]["low"].is_null());
    CHECK(nlohmann::json::parse(to_json(report).dump()) == to_json(report));
}

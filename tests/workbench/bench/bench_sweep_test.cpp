// Reading of --sweep and --memory-budget, and what is drawn. To add a case: a text and what it means, or rows
// and what they show.
#include "core/workbench/bench/bench_sweep.h"

#include <switchyard_test.h>

using namespace switchyard;
using bench::BenchRow;
using switchyard::test::contains;

namespace {

std::string problem(const std::string& text) {
    bench::Sweep sweep;
    return bench::read_sweep(text, 512, sweep);
}

BenchRow row_of(std::int64_t value, double ms, std::int64_t bytes) {
    BenchRow row;
    row.asked = row.plugin = row.component = "chunked";
    row.swept_option = "chunk_size";
    row.swept_value = value;
    row.ms = {ms, ms, ms};
    row.extra_memory_bytes = bytes;
    return row;
}

}  // namespace

TEST_CASE("a sweep has the values that are given, or powers of two up to the length") {
    bench::Sweep sweep;
    CHECK(bench::read_sweep("chunk_size=64,256", 512, sweep).empty());
    CHECK(sweep.option == "chunk_size");
    CHECK(sweep.values == std::vector<std::int64_t>{64, 256});
    CHECK(bench::read_sweep("chunk_size", 512, sweep).empty());
    CHECK(sweep.values == std::vector<std::int64_t>{32, 64, 128, 256, 512});
    CHECK(bench::read_sweep("chunk_size", 1, sweep).empty());
    CHECK(sweep.values == std::vector<std::int64_t>{32, 64});
}

TEST_CASE("what is wrong with a sweep is told") {
    CHECK(problem("=1,2") == "expected the name of an option, as in chunk_size=64,256");
    CHECK(problem("chunk_size=64") == "expected at least two values, as in chunk_size=64,256");
    CHECK(problem("chunk_size=") == "expected at least two values, as in chunk_size=64,256");
    CHECK(problem("chunk_size=64,big") == "expected whole numbers, got \"big\"");
    CHECK(problem("chunk_size=64,,1") == "expected whole numbers, got \"\"");
    CHECK(problem("chunk_size=64,64") == "64 is given twice");
}

TEST_CASE("bytes are read with decimal units") {
    CHECK(bench::read_bytes("800") == 800);
    CHECK(bench::read_bytes("96MB") == 96'000'000);
    CHECK(bench::read_bytes("1.5 GB") == 1'500'000'000);
    CHECK_FALSE(bench::read_bytes("96MiB"));
    CHECK_FALSE(bench::read_bytes("much"));
    CHECK_FALSE(bench::read_bytes("-5"));
    CHECK_FALSE(bench::read_bytes("1e30GB"));
}

TEST_CASE("the best of a sweep is the fastest within the memory budget") {
    const std::vector<BenchRow> rows{row_of(64, 30.0, 10'000'000), row_of(256, 20.0, 40'000'000),
                                     row_of(1024, 18.0, 160'000'000)};
    const auto text = [&](std::int64_t budget) {
        return bench::sweep_text(rows.data(), rows.data() + rows.size(), budget);
    };
    CHECK_THAT(text(0), contains("fastest: chunked chunk_size=1024, 18.0 ms, 160 MB"));
    CHECK_THAT(text(50'000'000),
               contains("fastest within 50.0 MB of extra memory: chunked chunk_size=256, 20.0 ms, 40.0 MB"));
    CHECK_THAT(text(1000), contains("none within 1.00 kB of extra memory"));
    // Bars are as long as what they stand for: the largest takes all 24 places.
    CHECK_THAT(text(0), contains(" 30.0  " + std::string(24, '#') + "  "));
    CHECK_THAT(text(0), contains("160 MB  " + std::string(24, '#') + "\n"));
    CHECK_THAT(text(0), contains("40.0 MB  " + std::string(6, '#') + "\n"));
}

TEST_CASE("rows that were not swept are not drawn") {
    const std::vector<BenchRow> rows(2);
    CHECK(bench::sweep_text(rows.data(), rows.data() + rows.size(), 0).empty());
}

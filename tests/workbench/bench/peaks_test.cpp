// Peaks and memory of a call. Clocks are made up; sizes are real.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include "core/kernel/machine/cpu_allocator.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/peak_meter.h"
#include "core/workbench/bench/measure/tile_products.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::bench;
using switchyard::test::Approx;

namespace {

const c10::Device cpu(c10::DeviceType::CPU);
constexpr std::int64_t megabyte = std::int64_t{1} << 20;

// Every look at the clock is `step` after the one before.
class Ticks final : public Stopwatch {
public:
    explicit Ticks(double step) : step_(step) {}
    double now_ms() override {
        ++looks_;
        return now_ += step_;
    }
    int looks() const { return looks_; }

private:
    double step_;
    int looks_ = 0;
    double now_ = 0.0;
};

}  // namespace

TEST_CASE("buffers lie outside the caches and fit the memory") {
    HostInfo host;
    host.l3_bytes = 32 * megabyte;
    host.memory_bytes = 24576 * megabyte;
    CHECK(peak_buffer_bytes(host, cpu) == 128 * megabyte);
    host.l3_bytes = 0;
    CHECK(peak_buffer_bytes(host, cpu) == 64 * megabyte);
    host.l3_bytes = 1024 * megabyte;
    CHECK(peak_buffer_bytes(host, cpu) == 1536 * megabyte);
}

TEST_CASE("peaks are operations and bytes over the time that the clock gives") {
    HostInfo host;
    host.memory_bytes = 16 * 64 * megabyte;
    Ticks clock(20.0);
    PeakMeter meter({DType::float32, DType::bfloat16}, cpu, host, clock);
    meter.sample();
    const Peaks& peaks = meter.peaks();
    CHECK(peaks.buffer_bytes == 64 * megabyte);
    CHECK(peaks.copy_gbytes_per_second == Approx(2.0 * 64 * megabyte / 20e6));
    CHECK(peaks.read_gbytes_per_second == Approx(64.0 * megabyte / 20e6));
    const double square = 2.0 * 512 * 512 * 512, tiles = multiply_tiles(DType::float32, 100);
    CHECK(peaks.matmul(DType::float32) == Approx(std::max(square, tiles) / 20e6));
    CHECK(peaks.matmul_of.at(DType::float32) ==
          (tiles > square ? "tiles of 64 x 256 x 64" : "mm of 512 x 512"));
    // Numbers of 16 bits may go through float32.
    CHECK(peaks.matmul(DType::bfloat16) >= peaks.matmul(DType::float32));
    CHECK(std::isnan(peaks.matmul(DType::float16)));
}

TEST_CASE("a pass over memory that takes long is made twice, a short one six times") {
    HostInfo host;
    host.memory_bytes = 16 * 64 * megabyte;
    for (const auto& [ms, passes] : {std::pair(1.0, 6), std::pair(110.0, 3), std::pair(400.0, 2)}) {
        Ticks clock(ms);
        PeakMeter meter({}, cpu, host, clock);
        meter.sample();
        CHECK(clock.looks() == 3 * 2 * passes);  // two ways to copy and one to read, at their begins and ends
        CHECK(meter.peaks().read_gbytes_per_second == Approx(64.0 * megabyte / ms / 1e6));
    }
}

TEST_CASE("one product is measured again by the name that its peak has") {
    HostInfo host;
    host.memory_bytes = 16 * 64 * megabyte;
    Ticks clock(20.0);
    PeakMeter meter({DType::float32, DType::bfloat16}, cpu, host, clock);
    const double square = 2.0 * 512 * 512 * 512 / 20e6;
    REQUIRE(meter.sample_product(DType::float32, "mm of 512 x 512"));
    CHECK(meter.peaks().matmul(DType::float32) == Approx(square));
    CHECK(meter.peaks().matmul_of.at(DType::float32) == "mm of 512 x 512");
    CHECK(std::isnan(meter.peaks().matmul(DType::bfloat16)));
    REQUIRE(meter.sample_product(DType::bfloat16, "float32 mm of 512 x 512"));
    CHECK(meter.peaks().matmul(DType::bfloat16) == Approx(square));
    CHECK(meter.peaks().matmul_of.at(DType::bfloat16) == "float32 mm of 512 x 512");
    CHECK(meter.sample_product(DType::float32, "tiles of 64 x 256 x 64") ==
          has_tile_products(DType::float32));
    for (const char* of : {"", "mm of 500 x 500", "float32 mm of 512 x 512"})
        CHECK_FALSE(meter.sample_product(DType::float32, of));
}

TEST_CASE("extra memory is the peak above what was live before, outputs and temporaries alike") {
    machine::install_cpu_allocator(config::Allocator::caching);
    const at::Tensor before = at::empty({10 * megabyte}, at::kByte);
    at::Tensor kept;
    const std::int64_t extra = extra_memory(
        [&kept] {
            { const at::Tensor temporary = at::empty({30 * megabyte}, at::kByte); }
            kept = at::empty({20 * megabyte}, at::kByte);
        },
        cpu);
    CHECK(extra == 30 * megabyte);
    CHECK(extra_memory([] {}, cpu) == 0);
}

// Ranges for 8 bits, against sorted numbers, and against the error that a range makes of the numbers.
#include "core/workbench/quantize/magnitudes.h"

#include <cmath>
#include <limits>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <switchyard_test.h>

using namespace switchyard;
using quantize::Magnitudes;
using quantize::RangeRule;

namespace {

Magnitudes counted(const std::vector<at::Tensor>& parts) {
    Magnitudes magnitudes;
    for (const auto& part : parts) magnitudes.add(part);
    return magnitudes;
}

at::Tensor drawn(std::int64_t count) {
    auto generator = at::detail::createCPUGenerator(7);
    return at::randn({count}, generator, at::TensorOptions().dtype(at::kFloat));
}

at::Tensor constant(std::int64_t count, double value) {
    return at::full({count}, value, at::TensorOptions().dtype(at::kFloat));
}

// The mean square of what 8 bits change of numbers.
double error_of(const at::Tensor& numbers, double range) {
    const double step = range / 127.0;
    return numbers.div(step).round().clamp(-127, 127).mul(step).sub(numbers).square().mean().item<double>();
}

// As long as it lives.
struct OneThreadCounts {
    OneThreadCounts() { at::set_num_threads(1); }
    ~OneThreadCounts() { at::set_num_threads(before); }

    int before = at::get_num_threads();
};

}  // namespace

TEST_CASE("the whole range is the largest magnitude, in whatever parts the numbers come") {
    const auto numbers = drawn(10'000);
    const double largest = numbers.abs().max().item<double>();
    CHECK(counted({numbers}).range(RangeRule::minmax, 0) == largest);
    CHECK(counted({numbers.narrow(0, 0, 10), numbers.narrow(0, 10, 9990)}).range(RangeRule::minmax, 0) ==
          largest);
    CHECK(counted({constant(5, -3.0)}).range(RangeRule::minmax, 0) == 3.0);
}

TEST_CASE("a percentile is that of the sorted magnitudes, to a bin") {
    const auto numbers = drawn(100'000);
    // Parts whose largest magnitude grows: bins are put together on the way.
    for (const auto& parts : {std::vector{numbers}, std::vector{numbers.mul(1e-3), numbers}}) {
        const auto magnitudes = counted(parts);
        const auto sorted = std::get<0>(at::cat(parts).abs().sort());
        const double two_bins = 4.0 * magnitudes.largest() / 2048.0;
        for (const double percent : {50.0, 99.0, 99.9, 100.0}) {
            INFO(percent << " of " << parts.size() << " parts");
            const auto count = static_cast<double>(sorted.numel());
            const auto index = static_cast<std::int64_t>(std::ceil(percent / 100.0 * count)) - 1;
            CHECK(magnitudes.range(RangeRule::percentile, percent) ==
                  Approx(sorted[index].item<double>()).margin(two_bins));
        }
    }
}

TEST_CASE("numbers of one bin are counted where they are more than a float can count") {
    const OneThreadCounts one;  // several would have such a count each
    const auto numbers = constant(22'000'000, 1.0);
    numbers.narrow(0, 0, 20'000'000).fill_(1e-3);
    CHECK(counted({numbers}).range(RangeRule::percentile, 90.0) < 0.01);
}

TEST_CASE("entropy keeps all of an even distribution, and cuts off few numbers far away") {
    const auto even = drawn(200'000).clamp(-1.0, 1.0);
    CHECK(counted({even}).range(RangeRule::entropy, 0) > 0.95);
    const auto body = drawn(200'000);
    const auto magnitudes = counted({at::cat({body, constant(3, 200.0)})});
    const double range = magnitudes.range(RangeRule::entropy, 0);
    CHECK(range < 20.0);
    CHECK(range > 2.5);
    CHECK(error_of(body, range) < 0.01 * error_of(body, magnitudes.range(RangeRule::minmax, 0)));
}

TEST_CASE("zeros, no numbers and numbers that are not finite leave a range that can be used") {
    const auto zeros = at::zeros({100}, at::TensorOptions().dtype(at::kFloat));
    for (const auto rule : {RangeRule::minmax, RangeRule::percentile, RangeRule::entropy}) {
        INFO(name(rule));
        CHECK(counted({}).range(rule, 99.0) == 0.0);
        CHECK(counted({zeros}).range(rule, 99.0) == 0.0);
        CHECK(counted({zeros.narrow(0, 0, 0)}).range(rule, 99.0) == 0.0);
        const auto infinite = constant(2, std::numeric_limits<double>::infinity());
        const auto nan = constant(1, std::numeric_limits<double>::quiet_NaN());
        CHECK(counted({at::cat({infinite, nan, constant(200, 2.0)})}).range(rule, 99.0) ==
              Approx(2.0).epsilon(0.002));
        // Zeros that came before the first other number count too.
        CHECK(counted({zeros, constant(1, 5.0)}).range(RangeRule::percentile, 90.0) < 0.01);
    }
}

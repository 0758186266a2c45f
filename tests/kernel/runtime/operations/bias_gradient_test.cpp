// What linear layers give as the gradient of their bias (core/kernel/runtime/operations/bias_gradient.h),
// against float64, and the memory that it takes.
#include <ATen/ops/randn.h>

#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/runtime/operations/bias_gradient.h"

#include <switchyard_test.h>

using namespace switchyard;
using runtime::bias_gradient;

TEST_CASE(
    "a bias's gradient is the float64 sum of the rows, however many there are and whatever they are stored "
    "in") {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
        for (const auto& [rows, columns] :
             {std::pair{0, 5}, {1, 7}, {300, 33}, {2047, 1024}, {2, 600'000}, {40'000, 40}}) {
            INFO(at::toString(type) << ", " << rows << " x " << columns);
            const auto grad = at::randn({rows, columns}).to(type);
            const auto expected = grad.to(at::kDouble).sum(0);
            const auto got = bias_gradient(grad, at::kFloat);
            CHECK(got.scalar_type() == at::kFloat);
            REQUIRE(got.sizes() == expected.sizes());
            const double bound = 1e-6 * (1.0 + grad.to(at::kDouble).abs().sum(0).max().item<double>());
            CHECK(got.to(at::kDouble).sub(expected).abs().max().item<double>() <= bound);
            CHECK(bias_gradient(grad, at::kBFloat16).equal(got.to(at::kBFloat16)));
        }
    }
}

TEST_CASE("a bias's gradient of bfloat16 rows takes no float32 copy of them") {
    machine::install_cpu_allocator(config::Allocator::caching);
    const auto grad = at::randn({2048, 4096}).to(at::kBFloat16);
    machine::reset_cpu_peak();
    const auto before = machine::cpu_memory_stats().live_bytes;
    (void)bias_gradient(grad, at::kFloat);
    CHECK(machine::cpu_memory_stats().peak_bytes - before < grad.numel());  // a quarter of a copy
}

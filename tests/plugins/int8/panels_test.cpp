// Panels: every integer stands where panels.h says, what fills up is zero, and sums are those of the groups.
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <switchyard/reference/quantized_weight.h>

#include "panels.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

std::int64_t up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

// The integer of an output and a column, 0 where they only fill up.
std::int64_t value(const at::Tensor& integers, std::int64_t output, std::int64_t column) {
    return output < integers.size(0) && column < integers.size(1)
               ? integers[output][column].item<std::int64_t>()
               : 0;
}

}  // namespace

TEST_CASE("bytes of a panel stand by column, `step` of an output side by side") {
    const auto weight = reference::quantized(at::randn({18, 34}), {8, 16, true});
    const at::Tensor integers = reference::unpacked(weight);
    for (const std::int64_t step : {1, 2, 4}) {
        const auto panels = int8::byte_panels(weight, step);
        CHECK(panels.columns == up(34, 4));
        CHECK(panels.panels() == 2);
        bool same = true;
        for (std::int64_t o = 0; o < 32; ++o)
            for (std::int64_t k = 0; k < panels.columns; ++k)
                same = same && panels.panel(o / 16)[(k / step * 16 + o % 16) * step + k % step] ==
                                   value(integers, o, k);
        CHECK(same);
        std::int64_t sum = 0;
        for (std::int64_t k = 16; k < 32; ++k) sum += value(integers, 17, k);
        CHECK(panels.sums_of(1, 1)[1] == sum);
        CHECK(panels.scales_of(1, 2)[1] == weight.scales[17][2].item<float>());
        CHECK(panels.offsets_of(0, 2)[3] ==
              weight.scales[3][2].item<float>() * weight.zero_points[3][2].item<float>());
        CHECK(panels.sums_of(1, 0)[5] == 0);
        CHECK(panels.bytes() >= 32 * panels.columns);
    }
}

TEST_CASE("halves of a panel are eight columns of an output, each with its sign") {
    const auto weight = reference::quantized(at::randn({5, 23}), {4, 16});
    const at::Tensor integers = reference::unpacked(weight);
    const auto panels = int8::weight_panels(weight);
    CHECK(panels.halves);
    CHECK(panels.offsets_of(0, 0) == nullptr);
    CHECK(panels.panel_bytes() == 12 * 16);
    CHECK(panels.columns == 24);
    bool same = true;
    for (std::int64_t o = 0; o < 16; ++o) {
        for (std::int64_t k = 0; k < panels.columns; ++k) {
            const auto word = static_cast<std::uint32_t>(panels.values[0][k / 8][o].item<std::int64_t>());
            const auto bits = static_cast<int>(word >> (4 * (k % 8)) & 15U);
            same = same && (bits ^ 8) - 8 == value(integers, o, k);
        }
    }
    CHECK(same);
}

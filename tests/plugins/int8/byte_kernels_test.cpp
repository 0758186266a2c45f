// Products of integers in 8 bits: every kernel that this processor has, against sums written out, at the
// largest magnitudes too, which a product of bytes that saturates would lose.
#include <cstdint>
#include <random>
#include <vector>

#include "byte_kernels.h"

#include <switchyard_test.h>

using namespace switchyard;

namespace {

constexpr std::int64_t outputs = 16;

struct Problem {
    std::int64_t rows, panels, columns;
    std::vector<std::int32_t> x, weight;  // [rows, columns], [panels, 16, columns]
};

// All the largest ones, or by chance.
Problem problem(std::int64_t rows, std::int64_t panels, std::int64_t columns, bool extreme) {
    std::mt19937 random(7);
    std::uniform_int_distribution<std::int32_t> any(-127, 127);
    Problem made{rows, panels, columns, {}, {}};
    for (std::int64_t i = 0; i < rows * columns; ++i) made.x.push_back(extreme ? -127 : any(random));
    for (std::int64_t i = 0; i < panels * outputs * columns; ++i)
        made.weight.push_back(extreme ? (i % 2 == 0 ? 127 : -127) : any(random));
    if (extreme)
        for (std::int64_t i = 0; i < columns; ++i) made.x[static_cast<std::size_t>(i)] = 127;
    return made;
}

std::vector<std::int32_t> sums_of(const Problem& p, const int8::ByteKernels& kernels) {
    std::vector<std::int8_t> panels(p.weight.size());
    for (std::int64_t row = 0; row < p.panels * outputs; ++row) {
        const std::int64_t panel = row / outputs * outputs * p.columns, o = row % outputs;
        for (std::int64_t k = 0; k < p.columns; ++k)
            panels[static_cast<std::size_t>(panel + (k / kernels.step * outputs + o) * kernels.step +
                                            k % kernels.step)] =
                static_cast<std::int8_t>(p.weight[static_cast<std::size_t>(row * p.columns + k)]);
    }
    std::vector<std::int16_t> wide(p.x.begin(), p.x.end());
    std::vector<std::uint8_t> bytes;
    for (const std::int32_t x : p.x) bytes.push_back(static_cast<std::uint8_t>(x + kernels.added));
    const void* x = kernels.number_bytes == 2 ? static_cast<const void*>(wide.data()) : bytes.data();
    std::vector<std::int32_t> sums(static_cast<std::size_t>(p.panels * p.rows * outputs), -1);
    kernels.tile({x, p.columns * kernels.number_bytes, p.rows, panels.data(), outputs * p.columns, p.panels,
                  p.columns, sums.data()});
    return sums;
}

std::vector<std::int32_t> written_out(const Problem& p, std::int32_t added) {
    std::vector<std::int32_t> sums;
    for (std::int64_t panel = 0; panel < p.panels; ++panel) {
        for (std::int64_t r = 0; r < p.rows; ++r) {
            for (std::int64_t o = panel * outputs; o < (panel + 1) * outputs; ++o) {
                std::int32_t sum = 0;
                for (std::int64_t k = 0; k < p.columns; ++k)
                    sum += (p.x[static_cast<std::size_t>(r * p.columns + k)] + added) *
                           p.weight[static_cast<std::size_t>(o * p.columns + k)];
                sums.push_back(sum);
            }
        }
    }
    return sums;
}

}  // namespace

TEST_CASE("each kernel that this processor has gives the exact sums of products of bytes") {
    for (const char* name : {"plain", "avx2", "avx_vnni", "avx512_vnni"}) {
        const auto* kernels = int8::byte_kernels(name);
        if (kernels == nullptr) continue;
        for (std::int64_t panels = 1; panels <= kernels->tile_panels; ++panels) {
            for (std::int64_t rows = 1; rows <= kernels->tile_rows; ++rows) {
                for (const std::int64_t columns : {4, 12, 16, 100, 1024}) {
                    for (const bool extreme : {false, true}) {
                        INFO(name << " " << rows << " rows, " << panels << " panels, " << columns
                                  << " columns" << (extreme ? ", largest" : ""));
                        const auto p = problem(rows, panels, columns, extreme);
                        CHECK(sums_of(p, *kernels) == written_out(p, kernels->added));
                    }
                }
            }
        }
    }
}

TEST_CASE("the best kernels are some that the processor has, and those of no name are none") {
    CHECK(int8::byte_kernels(int8::byte_kernels().name) == &int8::byte_kernels());
    CHECK(int8::byte_kernels("avx1024") == nullptr);
    CHECK(int8::byte_kernels("plain") != nullptr);
}

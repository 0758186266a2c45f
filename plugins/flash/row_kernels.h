// What is done to a row of scores, in vectors of the widest kind that the processor has (chosen at run time by Highway).
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

namespace switchyard::flash {

constexpr float log2_e = 1.44269504088896341F;
constexpr float ln_2 = 0.693147180559945309F;

// From products to scores: s = cap(scale * s) + distance + dense, all times log2(e).
struct ScoreTerms {
    float scale = 1.0F;
    float soft_cap = 0.0F;            // 0: none
    const float* distance = nullptr;  // of this row's first column on, or nullptr
    const float* dense = nullptr;     // likewise; dense_stride 0 or 1
    std::int64_t dense_stride = 1;
    float* slope = nullptr;  // where the derivative of the cap goes, or nullptr
};

struct DropoutRow {
    std::uint64_t seed = 0;
    std::uint32_t document = 0, head = 0, row = 0;
    std::uint32_t threshold = 0;
};

struct RowKernels {
    // In place; returns the largest, -inf for n = 0.
    float (*finish_scores)(float* s, std::int64_t n, const ScoreTerms& terms);
    // out = 2^(s - base); returns their sum, taken before rounding. out may be s.
    float (*exponentials)(const float* s, std::int64_t n, float base, float* out);
    // out = p, but zeros where dropped; out may be p. `first` is the first column within its sequence, a multiple of 64.
    void (*drop)(const float* p, std::int64_t n, std::int64_t first, const DropoutRow& row, float* out);
    void (*scale)(float* x, std::int64_t n, float factor);
    float (*dot)(const float* a, const float* b, std::int64_t n);
    // ds = p * ((kept > 0 ? keep_scale * ds : 0) - delta); kept may be nullptr: all are kept.
    void (*score_gradients)(float* ds, const float* p, const float* kept, std::int64_t n, float keep_scale,
                            float delta);
    // x *= factors, element by element.
    void (*multiply)(float* x, const float* factors, std::int64_t n);
    void (*add)(float* x, const float* terms, std::int64_t n);
    // [n, m] from [m, n]; strides in elements. Any m and n.
    void (*transpose32)(const std::uint32_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx,
                        std::uint32_t* out, std::int64_t ldo);
    void (*transpose16)(const std::uint16_t* x, std::int64_t m, std::int64_t n, std::int64_t ldx,
                        std::uint16_t* out, std::int64_t ldo);
    // out[2 i] = a[i], out[2 i + 1] = b[i].
    void (*interleave)(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n, std::uint16_t* out);
    void (*to_bfloat16)(const float* x, std::int64_t n, c10::BFloat16* out);  // to nearest, ties to even
};

const RowKernels& row_kernels();

}  // namespace switchyard::flash

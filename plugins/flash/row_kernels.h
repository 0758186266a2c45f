// What is done to a row of scores, in vectors of the widest kind that the processor has (chosen at run time
// by Highway).
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

#include <switchyard/sdk/cpu/panel_functions.h>

namespace switchyard::flash {

constexpr float log2_e = 1.44269504088896341F;

// From products to scores: s = cap(scale * s) + distance + dense.
struct ScoreTerms {
    float scale = 1.0F;
    float soft_cap = 0.0F;            // 0: none
    const float* distance = nullptr;  // of this row's first column on, or nullptr
    const float* dense = nullptr;     // likewise; dense_stride 0 or 1
    std::int64_t dense_stride = 1;
    float* slope = nullptr;  // where the derivative of the cap goes, or nullptr

    // Nothing but a scale: that is left to the exponentials, and finish_scores writes nothing.
    bool plain() const { return soft_cap <= 0.0F && distance == nullptr && dense == nullptr; }
};

// weight * 2^(factor * (s - top)), where no s is larger than top: differences are scaled, not scores, so that
// they are as exact as the scores are, however large.
struct Exponential {
    float factor = 1.0F, top = 0.0F, weight = 1.0F;
};

// The random numbers of one row of scores.
struct DropoutRow {
    std::uint64_t seed = 0;
    std::uint32_t document = 0, head = 0, row = 0;
    std::uint32_t threshold = 0;
    float keep_scale = 1.0F;
};

// At most this many columns a call where a row is dropped from.
constexpr std::int64_t most_dropped = 512;

struct RowKernels {
    // In place unless terms.plain(); returns the largest, -inf for n = 0.
    float (*finish_scores)(float* s, std::int64_t n, const ScoreTerms& terms);
    // s = exponential(s), but 0 where `dropout` (nullptr: nowhere) drops; returns their sum before dropping.
    // `first` is the first column within its sequence.
    float (*exponentials)(float* s, std::int64_t n, const Exponential& exponential, std::int64_t first,
                          const DropoutRow* dropout);
    void (*scale)(float* x, std::int64_t n, float factor);
    // ds = p * ((kept ? keep_scale * ds : 0) - delta), and p = 0 where it is not kept.
    void (*score_gradients)(float* ds, float* p, std::int64_t n, float delta, std::int64_t first,
                            const DropoutRow* dropout);
    // x *= factors, element by element.
    void (*multiply)(float* x, const float* factors, std::int64_t n);
    void (*add)(float* x, const float* terms, std::int64_t n);
    void (*to_bfloat16)(const float* x, std::int64_t n,
                        c10::BFloat16* out);  // to nearest, ties to even; NaN stays NaN
    PanelFunctions panels;
};

const RowKernels& row_kernels();

}  // namespace switchyard::flash

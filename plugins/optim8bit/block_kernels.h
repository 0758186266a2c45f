// A step on blocks of 256 values whose moments are 8-bit codes, and on rows whose moments are floats, in
// vectors of the widest kind that the processor has (chosen at run time by Highway).
#pragma once

#include <cstdint>

#include <switchyard/sdk/cpu/row_functions.h>

namespace switchyard::optim8bit {

constexpr std::int64_t block = 256;

struct StepNumbers {
    float gradient_factor = 1.0F;                                  // unscaling and clipping
    float keep = 1.0F;                                             // 1 - lr * weight_decay
    float beta1 = 0.0F, rest1 = 0.0F, beta2 = 0.0F, rest2 = 0.0F;  // rest: 1 - beta
    float rate = 0.0F;                                             // lion: lr; adamw: lr / (1 - beta1^t)
    float root = 1.0F;                                             // 1 / sqrt(1 - beta2^t)
    float eps = 0.0F;
};

// One moment: a code for every value, the largest magnitude of every block.
struct Codes {
    std::uint8_t* codes = nullptr;
    float* largest = nullptr;
};

// Chance for stochastic rounding: Philox4x32-10 of (a value's four neighbours, block, parameter, step) under
// the key `seed`.
struct Chance {
    bool on = false;
    std::uint64_t seed = 0;
    std::uint32_t step = 0, parameter = 0, first_block = 0;
};

struct BlockKernels {
    // n values that begin a block.
    void (*adamw_codes)(float* w, const float* g, std::int64_t n, Codes m, Codes v,
                        const StepNumbers& numbers, const Chance& chance);
    void (*lion_codes)(float* w, const float* g, std::int64_t n, Codes m, const StepNumbers& numbers,
                       const Chance& chance);
    void (*adamw_floats)(float* w, const float* g, std::int64_t n, float* m, float* v,
                         const StepNumbers& numbers);
    void (*lion_floats)(float* w, const float* g, std::int64_t n, float* m, const StepNumbers& numbers);
    RowFunctions rows;
};

const BlockKernels& block_kernels();

}  // namespace switchyard::optim8bit

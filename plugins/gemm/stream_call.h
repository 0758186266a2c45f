// What the kernels of few_rows.cpp are given, for whichever vectors they are compiled.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

namespace switchyard::gemm {

// y [rows, out] = x [rows, in] weight [out, in]^T + bias [out]. weight, bias and y are all float or all
// bfloat16.
struct StreamCall {
    const float* x;  // as `arrange` put it
    const void* weight;
    const void* bias;  // nullptr: none
    void* y;
    std::int64_t rows, in, out;
    std::int64_t stride;  // from one row of the weight to the next
};

struct StreamFunctions {
    // One row of x.
    void (*arrange_float)(const float* x, std::int64_t in, float* to);
    void (*arrange_bfloat16)(const c10::BFloat16* x, std::int64_t in, float* to);
    // Outputs from `first` to before `last`, of 1 to 8 rows.
    void (*some_float)(const StreamCall& call, std::int64_t first, std::int64_t last);
    void (*some_bfloat16)(const StreamCall& call, std::int64_t first, std::int64_t last);
};

}  // namespace switchyard::gemm

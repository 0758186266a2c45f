// Tiles of transposed logits, [classes, rows]: a vector holds one class of several rows, so that no sum goes
// across a vector. Rows are filled up to multiples of 16.
#pragma once

#include <cstdint>

#include <c10/util/BFloat16.h>

#include <switchyard/sdk/cpu/panel_functions.h>
#include <switchyard/sdk/cpu/row_functions.h>

namespace switchyard::fused {

constexpr std::int64_t tile_columns = 64;  // rows of the logits that a tile has at most

struct LogitsTile {
    const float* products = nullptr;  // [classes, tile_columns]
    std::int64_t classes = 0, rows = 0;
    const float* bias = nullptr;  // of each class; nullptr: none
};

// Of some rows, after some of their classes; from the row on that the tile begins with.
struct ColumnSums {
    float* top;    // largest logit
    float* total;  // of e^(logit - top)
    float* sum;    // of the logits
};

// gradient = factor * e^(logit - log_sum_exp) - constant, but 0 where the factor is 0.
struct ColumnFactors {
    const float *log_sum_exp, *factor, *constant;
};

struct ProjectionKernels {
    void (*summarize)(const LogitsTile& tile, const ColumnSums& sums);
    void (*float_gradients)(const LogitsTile& tile, const ColumnFactors& rows, float* out, std::int64_t ldo);
    void (*bfloat16_gradients)(const LogitsTile& tile, const ColumnFactors& rows, c10::BFloat16* out,
                               std::int64_t ldo);
    float (*sum_floats)(const float* x, std::int64_t n);
    float (*sum_bfloat16s)(const c10::BFloat16* x, std::int64_t n);
    PanelFunctions panels;
    RowFunctions rows;
};

const ProjectionKernels& projection_kernels();

}  // namespace switchyard::fused

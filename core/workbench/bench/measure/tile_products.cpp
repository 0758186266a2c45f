#include "core/workbench/bench/measure/tile_products.h"

#include <vector>

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>

namespace switchyard::bench {

namespace {

template <class Number>
void multiply(std::int64_t repetitions) {
    constexpr bool in_pairs = sizeof(Number) == 2;  // of rows of the right operand, as the kernels want them
    at::parallel_for(0, at::get_num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        const std::vector<Number> left(tile_rows * tile_depth, Number(0.5F)),
            right(tile_depth * tile_columns, Number(0.25F));
        std::vector<float> result(tile_rows * tile_columns);
        for (std::int64_t i = 0; i < repetitions * (end - begin); ++i)
            at::native::cpublas::brgemm(tile_rows, tile_columns, tile_depth, tile_depth, tile_columns,
                                        tile_columns, false, left.data(), right.data(), result.data(),
                                        in_pairs);
        at::native::cpublas::brgemm_release();
    });
}

}  // namespace

bool has_tile_products(DType dtype) {
#if defined(__x86_64__)
    return dtype == DType::float32 || (dtype == DType::bfloat16 && __builtin_cpu_supports("avx512bf16") != 0);
#else
    return false;
#endif
}

double multiply_tiles(DType dtype, std::int64_t repetitions) {
    if (dtype == DType::float32) {
        multiply<float>(repetitions);
    } else {
        multiply<c10::BFloat16>(repetitions);
    }
    return 2.0 * static_cast<double>(tile_rows * tile_columns * tile_depth) *
           static_cast<double>(repetitions * at::get_num_threads());
}

}  // namespace switchyard::bench

// Products of tiles that stay in a core's cache, by the kernels that LibTorch exports for them (oneDNN's
// brgemm, made at run time for one size). What a fused kernel can reach: a product of whole matrices also has
// to bring them there.
#pragma once

#include <cstdint>

#include <switchyard/interfaces/types.h>

namespace switchyard::bench {

// Of the left operand, of the right one, and what they have in common.
constexpr std::int64_t tile_rows = 64, tile_columns = 256, tile_depth = 64;

// Where LibTorch's kernels multiply this dtype as it is: float32, and bfloat16 on processors that have
// instructions for it.
bool has_tile_products(DType dtype);

// So many products on each of LibTorch's threads. Returns the operations of all of them, a multiplication and
// an addition being two.
double multiply_tiles(DType dtype, std::int64_t repetitions);

}  // namespace switchyard::bench

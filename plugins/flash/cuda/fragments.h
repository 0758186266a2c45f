// Tiles of 16-bit numbers in shared memory and products of them by tensor cores.
//
// A tile has rows of kDim elements, in chunks of 16 bytes. Chunk c of a row lies where chunk c ^ (row % 8)
// would: so the eight rows of one 8x8 matrix, which ldmatrix reads at once, lie in different banks (the
// swizzle that CUTLASS calls Swizzle<3, 3, 3>; NVIDIA, CUTLASS documentation, "Efficient GEMM in CUDA"). Rows
// of 64 bytes come in pairs.
#pragma once

#include "device.h"
#include "tiles.h"

namespace switchyard::flash_cuda {

template <int kDim>
__device__ __forceinline__ int chunk_offset(int row, int chunk) {
    const int turn = kDim >= 64 ? row & 7 : (row >> 1) & 3;
    return row * kDim + ((chunk ^ turn) << 3);
}

// Starts copying `rows` rows of global memory, each from where `row_at` says it begins; zeros in the rows
// from `real_rows` on, of which there is one at least, and in the columns from `real_dim` on.
template <class T, int kDim, class RowAt>
__device__ __forceinline__ void load_rows_at(T* shared, const RowAt& row_at, int rows, int real_rows,
                                             int real_dim) {
    constexpr int chunks = kDim / 8;
    for (int i = device::thread(); i < rows * chunks; i += tile_threads) {
        const int row = i / chunks, chunk = i % chunks;
        const bool real = row < real_rows && chunk * 8 < real_dim;
        device::copy_async(shared + chunk_offset<kDim>(row, chunk),
                           real ? row_at(row) + chunk * 8 : row_at(0), real);
    }
}

// The same of rows that lie `stride` elements apart.
template <class T, int kDim>
__device__ __forceinline__ void load_tile(T* shared, const T* global, std::int64_t stride, int rows,
                                          int real_rows, int real_dim) {
    load_rows_at<T, kDim>(
        shared, [=](int row) { return global + row * stride; }, rows, real_rows, real_dim);
}

// c[b] += a(rows first + 16 b to first + 16 b + 15) times the transpose of b(rows 8 column_first.. ), along
// kDim.
// c[b][j] is the fragment of rows 16 b and columns 8 j: elements 0 and 1 at row lane / 4, columns 2 (lane %
// 4) and the next; 2 and 3 eight rows below.
template <class T, int kDim, int kBlocks, int kColumns>
__device__ __forceinline__ void multiply_transposed(float (&c)[kBlocks][kColumns][4], const T* a, int a_first,
                                                    const T* b, int b_first) {
    const int lane = device::lane();
#pragma unroll
    for (int step = 0; step < kDim / 16; ++step) {
        std::uint32_t left[kBlocks][4];
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
            // Matrices in the order of the fragment: rows 0-7, rows 8-15, then the same of the next eight
            // columns.
            device::load_matrices(left[block], a + chunk_offset<kDim>(a_first + 16 * block + (lane & 15),
                                                                      2 * step + (lane >> 4)));
        }
#pragma unroll
        for (int j = 0; j < kColumns; j += 2) {
            // Two fragments: rows of b are columns of the product; of each fragment, columns 0-7 of a row,
            // then 8-15.
            std::uint32_t right[4];
            device::load_matrices(right,
                                  b + chunk_offset<kDim>(b_first + 8 * j + (lane & 7) + ((lane >> 4) << 3),
                                                         2 * step + ((lane >> 3) & 1)));
            const std::uint32_t even[2] = {right[0], right[1]}, odd[2] = {right[2], right[3]};
#pragma unroll
            for (int block = 0; block < kBlocks; ++block) {
                device::mma<T>(c[block][j], left[block], even);
                device::mma<T>(c[block][j + 1], left[block], odd);
            }
        }
    }
}

// One half of a fragment's rows less `amount`.
template <int kColumns>
__device__ __forceinline__ void subtract(float (&c)[kColumns][4], int half, float amount) {
#pragma unroll
    for (int j = 0; j < kColumns; ++j) {
        c[j][2 * half] -= amount;
        c[j][2 * half + 1] -= amount;
    }
}

// Fragments of a product (kColumns of eight columns) as those of a left factor: they have the same places.
template <class T, int kBlocks, int kColumns>
__device__ __forceinline__ void as_left_factor(std::uint32_t (&left)[kBlocks][kColumns / 2][4],
                                               const float (&c)[kBlocks][kColumns][4]) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int step = 0; step < kColumns / 2; ++step) {
            const auto& low = c[block][2 * step];
            const auto& high = c[block][2 * step + 1];
            left[block][step][0] = device::pack<T>(low[0], low[1]);
            left[block][step][1] = device::pack<T>(low[2], low[3]);
            left[block][step][2] = device::pack<T>(high[0], high[1]);
            left[block][step][3] = device::pack<T>(high[2], high[3]);
        }
    }
}

// c += left times b(rows b_first on, columns first_column on): kSteps rows of 16, kColumns fragments of 8
// columns.
template <class T, int kDim, int kBlocks, int kSteps, int kColumns>
__device__ __forceinline__ void multiply(float (&c)[kBlocks][kColumns][4],
                                         const std::uint32_t (&left)[kBlocks][kSteps][4], const T* b,
                                         int b_first, int first_column) {
    const int lane = device::lane();
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
        for (int j = 0; j < kColumns; j += 2) {
            std::uint32_t right[4];
            device::load_matrices_transposed(right,
                                             b + chunk_offset<kDim>(b_first + 16 * step + (lane & 15),
                                                                    first_column / 8 + j + (lane >> 4)));
            const std::uint32_t even[2] = {right[0], right[1]}, odd[2] = {right[2], right[3]};
#pragma unroll
            for (int block = 0; block < kBlocks; ++block) {
                device::mma<T>(c[block][j], left[block][step], even);
                device::mma<T>(c[block][j + 1], left[block][step], odd);
            }
        }
    }
}

// Writes a warp's own rows by way of a tile in shared memory that no other warp reads any more, so that
// memory gets whole chunks. `factor` is one for each block and half.
template <class T, int kDim, int kBlocks, int kColumns>
__device__ __forceinline__ void store_rows(const float (&c)[kBlocks][kColumns][4],
                                           const float (&factor)[kBlocks][2], T* shared, int first, T* global,
                                           std::int64_t stride, int real_rows, int first_column,
                                           int real_dim) {
    const int lane = device::lane();
    device::sync_warp();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
#pragma unroll
            for (int half = 0; half < 2; ++half) {
                const int row = first + 16 * block + 8 * half + lane / 4;
                auto* const place =
                    reinterpret_cast<std::uint32_t*>(shared + chunk_offset<kDim>(row, j) + 2 * (lane % 4));
                *place = device::pack<T>(c[block][j][2 * half] * factor[block][half],
                                         c[block][j][2 * half + 1] * factor[block][half]);
            }
        }
    }
    device::sync_warp();
    for (int i = lane; i < 16 * kBlocks * kColumns; i += 32) {
        const int row = first + i / kColumns, chunk = i % kColumns, column = first_column + 8 * chunk;
        if (row >= real_rows || column >= real_dim) continue;
        device::store16(global + row * stride + column,
                        device::load16(shared + chunk_offset<kDim>(row, chunk)));
    }
}

}  // namespace switchyard::flash_cuda

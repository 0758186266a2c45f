// Products of matrices in tiles, by LibTorch's exported brgemm (oneDNN's kernels, made at run time), where
// that is faster than LibTorch's own product: its library takes narrow vectors on some processors that have
// wide ones. Since 1.0.
//
// A tile of the result is summed up over all of the inner dimension by one thread, in the same order whatever
// the number of threads.
#pragma once

#include <cstdint>

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/native/CPUBlas.h>
#include <c10/util/BFloat16.h>

#include <switchyard/sdk/cpu/panel_functions.h>
#include <switchyard/sdk/cpu/row_functions.h>
#include <switchyard/sdk/cpu/tile_operands.h>

namespace switchyard::tiles {

// Element (i, j) stands at data[i * stride + j].
template <class Number>
struct Matrix {
    Number* data = nullptr;
    std::int64_t rows = 0, columns = 0, stride = 0;
};

// Tables of the plugin's own kernels (panels-inl.h, float_rows-inl.h).
struct Functions {
    PanelFunctions panels;
    RowFunctions rows;
};

inline constexpr std::int64_t tile_rows = 64, tile_columns = 64;
// Of the inner dimension packed at once: a panel stays in the second cache.
inline constexpr std::int64_t panel_depth = 1024;
// Added to a tile at once: a long sum in one register loses digits that sums of parts keep, and that a result
// in 16 bits has not.
template <class Number>
constexpr std::int64_t longest_sum = sizeof(Number) == 4 ? 128 : panel_depth;
inline constexpr std::int64_t rows_of_a_part = 1024;  // of the result that share a packed panel

// That this processor has brgemm for the type, with float32 sums.
inline bool multiplies(at::ScalarType type) {
#if defined(__x86_64__)
    if (type == at::kFloat) return __builtin_cpu_supports("avx512f") != 0;
#endif
    return type == at::kBFloat16 && multiplies_bfloat16();
}

// Sizes for which tiles pay: packing costs as much as some tens of rows of the product. Pairs of 16-bit
// numbers must not be cut.
inline bool pays(at::ScalarType type, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    const bool whole_pairs = type == at::kFloat || (inner % 2 == 0 && columns % 2 == 0 && rows % 2 == 0);
    return multiplies(type) && whole_pairs && rows >= 64 && inner >= 64 && columns >= 64;
}

namespace detail {

template <class Number>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Number* a, std::int64_t lda,
             const Number* b, std::int64_t ldb, float* c, std::int64_t ldc, bool add) {
    for (std::int64_t first = 0; first < k; first += longest_sum<Number>)
        tiles::product(m, n, std::min(longest_sum<Number>, k - first), a + first, lda, b + first * ldb, ldb,
                       c, ldc, add || first > 0);
}

// The numbers of a transposed copy, two at a time where they stand in pairs.
template <class Number>
void transpose_pairs(const Functions& functions, const Number* x, std::int64_t rows, std::int64_t columns,
                     std::int64_t stride, Number* to, std::int64_t to_stride) {
    functions.panels.transpose32(reinterpret_cast<const std::uint32_t*>(x), rows,
                                 columns / column_step<Number>, stride / column_step<Number>,
                                 reinterpret_cast<std::uint32_t*>(to), to_stride);
}

// Some columns of a right operand of `inner` rows.
template <class Number>
void pack_columns(const Functions& functions, const Number* b, std::int64_t stride, std::int64_t inner,
                  std::int64_t columns, Number* to) {
    right(functions.panels, Source<Number>{b, stride}, inner, columns, inner, to, tile_columns);
}

template <class Number>
struct Result {
    Matrix<Number> c;
    const float* bias;  // of all columns, or nullptr
};

// Sums of a tile, rounded into their place; nothing to do where they stand there already.
template <class Number>
void finish(const Functions& functions, const float* sums, std::int64_t sums_stride, std::int64_t rows,
            std::int64_t columns, const Result<Number>& result, std::int64_t row, std::int64_t column) {
    for (std::int64_t r = 0; r < rows; ++r) {
        Number* const to = result.c.data + (row + r) * result.c.stride + column;
        auto* const from = const_cast<float*>(sums) + r * sums_stride;
        if (result.bias != nullptr)
            for (std::int64_t j = 0; j < columns; ++j) from[j] += result.bias[column + j];
        if constexpr (in_pairs<Number>) functions.rows.from_floats(from, columns, at::kBFloat16, to);
    }
}

}  // namespace detail

// c = a b, or a b^T where `b_transposed`, plus the bias. Panels of b are packed by whoever multiplies with
// them.
template <class Number>
void multiply(const Functions& functions, Matrix<const Number> a, Matrix<const Number> b, bool b_transposed,
              Matrix<Number> c, const float* bias = nullptr) {
    constexpr bool rounds = in_pairs<Number>;
    const std::int64_t inner = a.columns, depth = std::min(inner, panel_depth);
    const std::int64_t panels = (c.columns + tile_columns - 1) / tile_columns;
    // Few panels are shared among threads by rows; the tiles are the same ones.
    const std::int64_t parts = (c.rows + rows_of_a_part - 1) / rows_of_a_part;
    const detail::Result<Number> result{c, bias};
    at::parallel_for(0, panels * parts, 1, [&](std::int64_t begin, std::int64_t end) {
        Buffer<Number> panel;
        panel.fit(depth * tile_columns);
        Buffer<float> sums;
        sums.fit(rounds ? std::min(c.rows, rows_of_a_part) * tile_columns : 0);
        for (std::int64_t unit = begin; unit < end; ++unit) {
            const std::int64_t column = unit / parts * tile_columns, first = unit % parts * rows_of_a_part;
            const std::int64_t columns = std::min(tile_columns, c.columns - column);
            const std::int64_t last = std::min(first + rows_of_a_part, c.rows);
            for (std::int64_t k = 0; k < inner; k += depth) {
                const std::int64_t some = std::min(depth, inner - k);
                if (b_transposed) {
                    detail::transpose_pairs(functions, b.data + column * b.stride + k, columns, some,
                                            b.stride, panel.data(), tile_columns);
                } else {
                    detail::pack_columns(functions, b.data + k * b.stride + column, b.stride, some, columns,
                                         panel.data());
                }
                for (std::int64_t row = first; row < last; row += tile_rows) {
                    const std::int64_t rows = std::min(tile_rows, last - row);
                    float* to = nullptr;
                    std::int64_t stride = tile_columns;
                    if constexpr (rounds) {
                        to = sums.data() + (row - first) * tile_columns;
                    } else {
                        to = c.data + row * c.stride + column;
                        stride = c.stride;
                    }
                    detail::product(rows, columns, some, a.data + row * a.stride + k, a.stride, panel.data(),
                                    tile_columns, to, stride, k > 0);
                    if (k + some == inner && (rounds || bias != nullptr))
                        detail::finish(functions, to, stride, rows, columns, result, row, column);
                }
            }
        }
        at::native::cpublas::brgemm_release();
    });
}

// c = a^T b: [n, m] from a [k, n] and b [k, m]. Blocks of a are transposed by whoever multiplies with them.
template <class Number>
void multiply_transposed(const Functions& functions, Matrix<const Number> a, Matrix<const Number> b,
                         Matrix<Number> c) {
    constexpr bool rounds = in_pairs<Number>;
    const std::int64_t inner = a.rows, depth = std::min(inner, panel_depth);
    const std::int64_t panels = (c.columns + tile_columns - 1) / tile_columns;
    const std::int64_t blocks = (c.rows + tile_rows - 1) / tile_rows;
    // 16-bit numbers have to stand in pairs; float32 is read where it is.
    Buffer<Number> packed;
    packed.fit(rounds ? panels * inner * tile_columns : 0);
    if constexpr (rounds) {
        at::parallel_for(0, panels, 1, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t p = begin; p < end; ++p)
                detail::pack_columns(functions, b.data + p * tile_columns, b.stride, inner,
                                     std::min(tile_columns, c.columns - p * tile_columns),
                                     packed.data() + p * inner * tile_columns);
        });
    }
    const detail::Result<Number> result{c, nullptr};
    at::parallel_for(0, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        Buffer<Number> block;
        block.fit(tile_rows * depth);
        Buffer<float> sums;
        sums.fit(rounds ? tile_rows * panels * tile_columns : 0);
        for (std::int64_t row = begin * tile_rows; row < std::min(end * tile_rows, c.rows);
             row += tile_rows) {
            const std::int64_t rows = std::min(tile_rows, c.rows - row);
            for (std::int64_t k = 0; k < inner; k += depth) {
                const std::int64_t some = std::min(depth, inner - k);
                const Number* const from = a.data + k * a.stride + row;
                if constexpr (rounds) {
                    functions.panels.transpose16(reinterpret_cast<const std::uint16_t*>(from), some, rows,
                                                 a.stride, reinterpret_cast<std::uint16_t*>(block.data()),
                                                 depth);
                } else {
                    functions.panels.transpose32(reinterpret_cast<const std::uint32_t*>(from), some, rows,
                                                 a.stride, reinterpret_cast<std::uint32_t*>(block.data()),
                                                 depth);
                }
                for (std::int64_t column = 0; column < c.columns; column += tile_columns) {
                    const std::int64_t columns = std::min(tile_columns, c.columns - column);
                    if constexpr (rounds) {
                        float* const to = sums.data() + column * tile_rows;
                        detail::product(rows, columns, some, block.data(), depth,
                                        packed.data() + (column * inner + k * tile_columns), tile_columns, to,
                                        tile_columns, k > 0);
                        if (k + some == inner)
                            detail::finish(functions, to, tile_columns, rows, columns, result, row, column);
                    } else {
                        detail::product(rows, columns, some, block.data(), depth,
                                        b.data + k * b.stride + column, b.stride,
                                        c.data + row * c.stride + column, c.stride, k > 0);
                    }
                }
            }
        }
        at::native::cpublas::brgemm_release();
    });
}

}  // namespace switchyard::tiles

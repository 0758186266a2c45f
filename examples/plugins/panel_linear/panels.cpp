#include "panels.h"

#include <algorithm>

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>

namespace {

constexpr std::int64_t width = Panels::columns;
constexpr int tile_rows = 4;               // with `width` columns: as many sums as fit into registers
constexpr std::int64_t inner_block = 256;  // products that are summed up before they are added to the others
constexpr std::int64_t products_of_a_task = 65536;

// At least one, and as many as make a task worth handing to a thread.
std::int64_t grain(std::int64_t products_of_one) {
    return std::max<std::int64_t>(1, products_of_a_task / std::max<std::int64_t>(1, products_of_one));
}

template <class T>
void pack_panel(const at::Tensor& matrix_NK, std::int64_t panel, T* to_K16) {
    const T* const from = matrix_NK.const_data_ptr<T>();
    const std::int64_t row_stride = matrix_NK.stride(0), inner_stride = matrix_NK.stride(1);
    const std::int64_t first = panel * width, rows = std::min(width, matrix_NK.size(0) - first);
    for (std::int64_t k = 0; k < matrix_NK.size(1); ++k) {
        for (std::int64_t c = 0; c < width; ++c)
            to_K16[k * width + c] =
                c < rows ? from[(first + c) * row_stride + k * inner_stride] : static_cast<T>(0.0F);
    }
}

// One tile: `rows` rows of a, each of K values, times a panel.
template <class T, int rows>
void tile(const T* a, std::int64_t a_stride, const T* panel_K16, std::int64_t inner,
          float (&result)[tile_rows][width]) {
    for (int r = 0; r < rows; ++r) std::fill_n(result[r], width, 0.0F);
    for (std::int64_t begin = 0; begin < inner; begin += inner_block) {
        const std::int64_t end = std::min(inner, begin + inner_block);
        float sums[rows][width] = {};
        for (std::int64_t k = begin; k < end; ++k) {
            float b[width];
            for (std::int64_t c = 0; c < width; ++c) b[c] = static_cast<float>(panel_K16[k * width + c]);
            for (int r = 0; r < rows; ++r) {
                const auto one = static_cast<float>(a[r * a_stride + k]);
                for (std::int64_t c = 0; c < width; ++c) sums[r][c] += one * b[c];
            }
        }
        for (int r = 0; r < rows; ++r) {
            for (std::int64_t c = 0; c < width; ++c) result[r][c] += sums[r][c];
        }
    }
}

template <class T>
void product_into(const at::Tensor& a_MK, const Panels& b, const at::Tensor& bias_N, at::Tensor& y_MN) {
    const T* const a = a_MK.const_data_ptr<T>();
    const T* const panels = b.values.const_data_ptr<T>();
    const T* const bias = bias_N.defined() ? bias_N.const_data_ptr<T>() : nullptr;
    T* const y = y_MN.mutable_data_ptr<T>();
    const std::int64_t rows = a_MK.size(0), inner = b.inner, columns = b.rows;
    const std::int64_t row_tiles = (rows + tile_rows - 1) / tile_rows, tiles = row_tiles * b.values.size(0);
    at::parallel_for(0, tiles, grain(tile_rows * width * inner), [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t t = begin; t < end; ++t) {
            // Tiles of a panel follow each other: it stays in the cache.
            const std::int64_t panel = t / row_tiles, first_row = t % row_tiles * tile_rows;
            const std::int64_t tall = std::min<std::int64_t>(tile_rows, rows - first_row);
            const std::int64_t first = panel * width, wide = std::min(width, columns - first);
            float sums[tile_rows][width];
            if (tall == tile_rows) {
                tile<T, tile_rows>(a + first_row * inner, inner, panels + panel * inner * width, inner, sums);
            } else {
                float one[tile_rows][width];
                for (std::int64_t r = 0; r < tall; ++r) {
                    tile<T, 1>(a + (first_row + r) * inner, inner, panels + panel * inner * width, inner,
                               one);
                    std::copy_n(one[0], width, sums[r]);
                }
            }
            for (std::int64_t r = 0; r < tall; ++r) {
                T* const to = y + (first_row + r) * columns + first;
                for (std::int64_t c = 0; c < wide; ++c)
                    to[c] = static_cast<T>(
                        bias == nullptr ? sums[r][c] : sums[r][c] + static_cast<float>(bias[first + c]));
            }
        }
    });
}

}  // namespace

Panels pack(const at::Tensor& matrix_NK) {
    Panels packed;
    packed.rows = matrix_NK.size(0);
    packed.inner = matrix_NK.size(1);
    const std::int64_t count = (packed.rows + width - 1) / width;
    packed.values = at::empty({count, packed.inner, width}, matrix_NK.options().requires_grad(false));
    const auto with = [&](auto zero) {
        using T = decltype(zero);
        T* const to = packed.values.mutable_data_ptr<T>();
        at::parallel_for(0, count, grain(packed.inner * width), [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t panel = begin; panel < end; ++panel)
                pack_panel<T>(matrix_NK, panel, to + panel * packed.inner * width);
        });
    };
    if (matrix_NK.scalar_type() == at::kBFloat16)
        with(at::BFloat16());
    else
        with(float());
    return packed;
}

at::Tensor product(const at::Tensor& a_MK, const Panels& b, const at::Tensor& bias_N) {
    const at::Tensor a = a_MK.contiguous();
    const at::Tensor bias = bias_N.defined() ? bias_N.contiguous() : bias_N;
    at::Tensor y = at::empty({a.size(0), b.rows}, a.options().requires_grad(false));
    if (y.numel() == 0) return y;
    if (a.scalar_type() == at::kBFloat16)
        product_into<at::BFloat16>(a, b, bias, y);
    else
        product_into<float>(a, b, bias, y);
    return y;
}

// Operands of products of tiles that stay in a core's cache, by the kernels that LibTorch exports (oneDNN's
// brgemm, made at run time for one size): copies of a few rows in the order that those read them in. For
// kernels that do something of their own to the tiles; whole products are in tile_product.h. Since 1.0.
//
//   left(rows):          [n, d] dense, d rounded up                      the left operand of a product
//   right(rows):         the right operand of x * rows, [n, d]
//   right_of_transposed: the right operand of x * rows^T, [d, n]
//
// float: row-major. bfloat16: pairs of rows of the operand side by side, [k / 2][columns][2], which the
// processor's dot products read (VNNI). Rows and columns that only fill up are zero.
//
// float goes through LibTorch's own product where there is no brgemm; for bfloat16 ask multiplies_bfloat16(),
// and turn it into float as it is packed where the answer is no.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>

#include <switchyard/sdk/cpu/panel_functions.h>

namespace switchyard::tiles {

// By the processor's own instructions.
inline bool multiplies_bfloat16() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16") != 0;
#else
    return false;
#endif
}

// What operands of a type are multiplied in here, in the words of computes_in_property
// (<switchyard/interfaces/component_property.h>).
inline const char* multiplied_in(at::ScalarType type) {
    return type == at::kBFloat16 && multiplies_bfloat16() ? "bf16, fp32 sums" : "fp32";
}

// Contracted dimensions are even for bfloat16; other sizes go in steps of 16, for each size has its own code
// made at run time.
constexpr std::int64_t even(std::int64_t n) { return (n + 1) / 2 * 2; }
constexpr std::int64_t up16(std::int64_t n) { return (n + 15) / 16 * 16; }

template <class Compute>
constexpr bool in_pairs = !std::is_same_v<Compute, float>;
// Numbers of one column that stand side by side: from one column of a right operand to the next.
template <class Compute>
constexpr std::int64_t column_step = in_pairs<Compute> ? 2 : 1;

// Element (k, column) of an operand with `columns` columns.
template <class Compute>
constexpr std::int64_t place(std::int64_t k, std::int64_t column, std::int64_t columns) {
    return in_pairs<Compute> ? (k / 2) * columns * 2 + column * 2 + k % 2 : k * columns + column;
}

// Rows with `stride` between them, in any floating type, read as float.
template <class Storage>
struct Source {
    const Storage* data;
    std::int64_t stride;
    const Storage* row(std::int64_t i) const { return data + i * stride; }
};

template <class Compute, class Storage>
void left(const Source<Storage>& rows, std::int64_t n, std::int64_t d, std::int64_t padded_n, Compute* out) {
    const std::int64_t width = even(d);
    if constexpr (std::is_same_v<Compute, Storage>) {
        if (width == d) {
            for (std::int64_t i = 0; i < n; ++i) std::copy_n(rows.row(i), d, out + i * d);
            std::fill(out + n * d, out + padded_n * d, Compute(0));
            return;
        }
    }
    for (std::int64_t i = 0; i < padded_n; ++i, out += width) {
        std::int64_t k = 0;
        if (i < n)
            for (; k < d; ++k) out[k] = static_cast<Compute>(rows.row(i)[k]);
        for (; k < width; ++k) out[k] = Compute(0);
    }
}

// `columns`: of the operand in all, where these are some of them.
template <class Compute, class Storage>
void right(const PanelFunctions& kernels, const Source<Storage>& rows, std::int64_t n, std::int64_t d,
           std::int64_t padded_n, Compute* out, std::int64_t columns) {
    if constexpr (std::is_same_v<Compute, Storage>) {
        if constexpr (in_pairs<Compute>) {
            const auto bits = [](const Storage* row) { return reinterpret_cast<const std::uint16_t*>(row); };
            auto* const to = reinterpret_cast<std::uint16_t*>(out);
            for (std::int64_t k = 0; k + 1 < n; k += 2)
                kernels.interleave(bits(rows.row(k)), bits(rows.row(k + 1)), d, to + k * columns);
        } else {
            for (std::int64_t k = 0; k < n; ++k) std::copy_n(rows.row(k), d, out + k * columns);
        }
        const std::int64_t done = in_pairs<Compute> ? n / 2 * 2 : n;
        for (std::int64_t k = done; k < padded_n; ++k)
            for (std::int64_t c = 0; c < d; ++c)
                out[place<Compute>(k, c, columns)] = k < n ? rows.row(k)[c] : Compute(0);
        return;
    }
    for (std::int64_t k = 0; k < padded_n; ++k)
        for (std::int64_t c = 0; c < d; ++c)
            out[place<Compute>(k, c, columns)] = k < n ? static_cast<Compute>(rows.row(k)[c]) : Compute(0);
}
template <class Compute, class Storage>
void right(const PanelFunctions& kernels, const Source<Storage>& rows, std::int64_t n, std::int64_t d,
           std::int64_t padded_n, Compute* out) {
    right(kernels, rows, n, d, padded_n, out, d);
}

template <class Compute, class Storage>
void right_of_transposed(const PanelFunctions& kernels, const Source<Storage>& rows, std::int64_t n,
                         std::int64_t d, std::int64_t padded_n, Compute* out) {
    // Pairs of numbers of bfloat16 stay together: 32-bit numbers then, too.
    constexpr std::int64_t pair = column_step<Compute>;
    if constexpr (std::is_same_v<Compute, Storage>) {
        if (d == even(d) && rows.stride % pair == 0 && reinterpret_cast<std::uintptr_t>(rows.data) % 4 == 0) {
            auto* const to = reinterpret_cast<std::uint32_t*>(out);
            kernels.transpose32(reinterpret_cast<const std::uint32_t*>(rows.data), n, d / pair,
                                rows.stride / pair, to, padded_n);
            for (std::int64_t k = 0; k < d / pair; ++k)
                std::fill(to + k * padded_n + n, to + (k + 1) * padded_n, 0U);
            return;
        }
    }
    constexpr std::int64_t block = 16;  // columns that stay in the cache while k runs
    for (std::int64_t begin = 0; begin < padded_n; begin += block)
        for (std::int64_t k = 0; k < even(d); ++k)
            for (std::int64_t c = begin; c < begin + block; ++c)
                out[place<Compute>(k, c, padded_n)] =
                    c < n && k < d ? static_cast<Compute>(rows.row(c)[k]) : Compute(0);
}

// c[m, n] (+)= a[m, k] * b, b as `right` or `right_of_transposed` left it with ldb columns in all. A column
// offset into b is offset * column_step elements.
template <class Compute>
void product(std::int64_t m, std::int64_t n, std::int64_t k, const Compute* a, std::int64_t lda,
             const Compute* b, std::int64_t ldb, float* c, std::int64_t ldc, bool add) {
    at::native::cpublas::brgemm(m, n, k, lda, ldb, ldc, add, a, b, c, in_pairs<Compute>);
}

// Memory from LibTorch's allocator, where the core counts it. Uninitialised.
template <class T>
class Buffer {
public:
    void fit(std::int64_t size) {
        if (size > size_) {
            tensor_ = at::empty({size * static_cast<std::int64_t>(sizeof(T))},
                                at::TensorOptions().dtype(at::kByte));
            size_ = size;
        }
    }
    T* data() { return tensor_.defined() ? static_cast<T*>(tensor_.mutable_data_ptr()) : nullptr; }
    const T* data() const {
        return tensor_.defined() ? static_cast<const T*>(tensor_.const_data_ptr()) : nullptr;
    }

private:
    at::Tensor tensor_;
    std::int64_t size_ = 0;
};

// Runs `body(task, scratch)` for all tasks on LibTorch's threads, `run` of them one after the other (at least
// one) as a thread becomes free: tasks differ in length.
// Each thread has a Scratch of its own. Tasks begin in their order: one may wait for what those before it do.
template <class Scratch, class Body>
void run_tasks(std::int64_t tasks, const Body& body, std::int64_t run = 1,
               std::int64_t most_threads = std::numeric_limits<std::int64_t>::max()) {
    run = std::max<std::int64_t>(run, 1);
    std::atomic<std::int64_t> next{0};
    at::parallel_for(0, std::min({std::int64_t{at::get_num_threads()}, tasks, most_threads}), 1,
                     [&](std::int64_t begin, std::int64_t end) {
                         if (begin == end) return;
                         Scratch scratch;
                         for (std::int64_t first = next.fetch_add(run); first < tasks;
                              first = next.fetch_add(run))
                             for (std::int64_t task = first; task < std::min(first + run, tasks); ++task)
                                 body(task, scratch);
                         at::native::cpublas::brgemm_release();
                     });
}

}  // namespace switchyard::tiles

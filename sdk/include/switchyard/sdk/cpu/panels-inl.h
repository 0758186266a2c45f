// Transposing and interleaving in vectors of Highway. Since 1.0. Included once for each target, as
// float_rows-inl.h says.
#if defined(SWITCHYARD_SDK_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SWITCHYARD_SDK_PANELS_INL_H_
#undef SWITCHYARD_SDK_PANELS_INL_H_
#else
#define SWITCHYARD_SDK_PANELS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include <hwy/highway.h>

#include <switchyard/sdk/cpu/panel_functions.h>

HWY_BEFORE_NAMESPACE();
namespace switchyard::HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
template <class T>
void transpose(const T* x, std::int64_t m, std::int64_t n, std::int64_t ldx, T* out, std::int64_t ldo) {
    for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) out[j * ldo + i] = x[i * ldx + j];
}
#else
// 128 bits of each of `blocks` rows, one above the other in one vector.
template <class T, std::size_t blocks>
HWY_INLINE auto stacked(const T* x, std::int64_t between) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::Simd<T, blocks * 16 / sizeof(T), 0> tag;
    if constexpr (blocks == 1) {
        return hn::LoadU(tag, x);
    } else {
        const auto low = stacked<T, blocks / 2>(x, between);
        const auto high =
            stacked<T, blocks / 2>(x + static_cast<std::int64_t>(blocks / 2) * between, between);
        return hn::Combine(tag, high, low);
    }
}

// `blocks` squares, one below the other, of as many rows as 128 bits have numbers: row i is interleaved with
// row i + half, so often that every number has come to its place. Whole vectors are stored.
template <class T, std::size_t blocks>
HWY_INLINE void transpose_squares(const T* x, std::int64_t ldx, T* out, std::int64_t ldo) {
    namespace hn = hwy::HWY_NAMESPACE;
    constexpr std::size_t size = 16 / sizeof(T);
    const hn::Simd<T, blocks * size, 0> tag;
    hn::Vec<decltype(tag)> rows[size], next[size];
    for (std::size_t i = 0; i < size; ++i)
        rows[i] =
            stacked<T, blocks>(x + static_cast<std::int64_t>(i) * ldx, static_cast<std::int64_t>(size) * ldx);
    for (std::size_t step = 1; step < size; step *= 2) {
        for (std::size_t i = 0; i < size / 2; ++i) {
            next[2 * i] = hn::InterleaveLower(tag, rows[i], rows[i + size / 2]);
            next[2 * i + 1] = hn::InterleaveUpper(tag, rows[i], rows[i + size / 2]);
        }
        for (std::size_t i = 0; i < size; ++i) rows[i] = next[i];
    }
    for (std::size_t i = 0; i < size; ++i) hn::StoreU(rows[i], tag, out + static_cast<std::int64_t>(i) * ldo);
}

template <class T>
void transpose(const T* x, std::int64_t m, std::int64_t n, std::int64_t ldx, T* out, std::int64_t ldo) {
#if HWY_HAVE_SCALABLE
    constexpr std::int64_t blocks = 1;
#else
    constexpr std::int64_t blocks = HWY_MAX_BYTES / 16;
#endif
    constexpr std::int64_t size = 16 / sizeof(T);
    const std::int64_t whole_m = m / size * size, whole_n = n / size * size;
    for (std::int64_t j = 0; j < whole_n; j += size) {
        std::int64_t i = 0;
        for (; i + blocks * size <= m; i += blocks * size)
            transpose_squares<T, blocks>(x + i * ldx + j, ldx, out + j * ldo + i, ldo);
        for (; i < whole_m; i += size) transpose_squares<T, 1>(x + i * ldx + j, ldx, out + j * ldo + i, ldo);
    }
    for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t i = j < whole_n ? whole_m : 0; i < m; ++i) out[j * ldo + i] = x[i * ldx + j];
}
#endif

inline void interleave(const std::uint16_t* a, const std::uint16_t* b, std::int64_t n, std::uint16_t* out) {
    for (std::int64_t i = 0; i < n; ++i) {
        out[2 * i] = a[i];
        out[2 * i + 1] = b[i];
    }
}

// The three of them, as a table of kernels holds them.
inline PanelFunctions panel_functions() {
    return {transpose<std::uint32_t>, transpose<std::uint16_t>, interleave};
}

}  // namespace switchyard::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

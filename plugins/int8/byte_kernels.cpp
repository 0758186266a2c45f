#include "byte_kernels.h"

#include <cstring>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace switchyard::int8 {
namespace {

constexpr std::int64_t outputs = 16;

void plain_tile(const ByteTile& t) {
    for (std::int64_t r = 0; r < t.rows; ++r) {
        const auto* const row =
            reinterpret_cast<const std::int16_t*>(static_cast<const char*>(t.x) + r * t.stride);
        std::int32_t sum[outputs] = {};
        for (std::int64_t k = 0; k < t.columns; k += 2) {
            const std::int8_t* const w = t.panels + k * outputs;
            for (std::int64_t o = 0; o < outputs; ++o)
                sum[o] += row[k] * w[2 * o] + row[k + 1] * w[2 * o + 1];
        }
        std::memcpy(t.sums + r * outputs, sum, sizeof sum);
    }
}

#if defined(__x86_64__)

// Registers hold the sums of all rows: their number is known when this is compiled.
template <int rows>
__attribute__((target("avx2"))) void avx2_rows(const ByteTile& t) {
    __m256i sum[rows][2];
    for (auto& one : sum) one[0] = one[1] = _mm256_setzero_si256();
    const char* const from = static_cast<const char*>(t.x);
    for (std::int64_t k = 0; k < t.columns; k += 2) {
        const auto* const w = reinterpret_cast<const __m128i*>(t.panels + k * outputs);
        const __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(w));
        const __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(w + 1));
        for (int r = 0; r < rows; ++r) {
            std::int32_t pair = 0;
            std::memcpy(&pair, from + r * t.stride + 2 * k, sizeof pair);
            const __m256i both = _mm256_set1_epi32(pair);
            sum[r][0] = _mm256_add_epi32(sum[r][0], _mm256_madd_epi16(both, w0));
            sum[r][1] = _mm256_add_epi32(sum[r][1], _mm256_madd_epi16(both, w1));
        }
    }
    for (int r = 0; r < rows; ++r) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * outputs), sum[r][0]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * outputs + 8), sum[r][1]);
    }
}

template <int rows>
__attribute__((target("avx2,avxvnni"))) void avx_vnni_rows(const ByteTile& t) {
    __m256i sum[rows][2];
    for (auto& one : sum) one[0] = one[1] = _mm256_setzero_si256();
    const char* const from = static_cast<const char*>(t.x);
    for (std::int64_t k = 0; k < t.columns; k += 4) {
        const auto* const w = reinterpret_cast<const __m256i*>(t.panels + k * outputs);
        const __m256i w0 = _mm256_loadu_si256(w), w1 = _mm256_loadu_si256(w + 1);
        for (int r = 0; r < rows; ++r) {
            std::int32_t four = 0;
            std::memcpy(&four, from + r * t.stride + k, sizeof four);
            const __m256i all = _mm256_set1_epi32(four);
            sum[r][0] = _mm256_dpbusd_avx_epi32(sum[r][0], all, w0);
            sum[r][1] = _mm256_dpbusd_avx_epi32(sum[r][1], all, w1);
        }
    }
    for (int r = 0; r < rows; ++r) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * outputs), sum[r][0]);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(t.sums + r * outputs + 8), sum[r][1]);
    }
}

// Unrolled by name: g++ at -O3 keeps the sums in memory otherwise.
template <int panels, int rows>
__attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni"))) void avx512_vnni_rows(const ByteTile& t) {
    __m512i sum[panels][rows];
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) sum[p][r] = _mm512_setzero_si512();
    const char* const from = static_cast<const char*>(t.x);
    for (std::int64_t k = 0; k < t.columns; k += 4) {
        __m512i w[panels];
#pragma GCC unroll 8
        for (int p = 0; p < panels; ++p)
            w[p] = _mm512_loadu_si512(t.panels + p * t.panel_stride + k * outputs);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) {
            std::int32_t four = 0;
            std::memcpy(&four, from + r * t.stride + k, sizeof four);
            const __m512i all = _mm512_set1_epi32(four);
#pragma GCC unroll 8
            for (int p = 0; p < panels; ++p) sum[p][r] = _mm512_dpbusd_epi32(sum[p][r], all, w[p]);
        }
    }
#pragma GCC unroll 8
    for (int p = 0; p < panels; ++p)
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) _mm512_storeu_si512(t.sums + (p * rows + r) * outputs, sum[p][r]);
}

using Rows = void (*)(const ByteTile&);

template <const auto& by_rows>
void tile(const ByteTile& t) {
    by_rows[t.rows - 1](t);
}

template <int panels>
constexpr Rows avx512_vnni_by_rows[] = {avx512_vnni_rows<panels, 1>, avx512_vnni_rows<panels, 2>,
                                        avx512_vnni_rows<panels, 3>, avx512_vnni_rows<panels, 4>,
                                        avx512_vnni_rows<panels, 5>, avx512_vnni_rows<panels, 6>};

void avx512_vnni_tile(const ByteTile& t) {
    constexpr const Rows* by_panels[] = {avx512_vnni_by_rows<1>, avx512_vnni_by_rows<2>,
                                         avx512_vnni_by_rows<3>, avx512_vnni_by_rows<4>};
    by_panels[t.count - 1][t.rows - 1](t);
}

constexpr Rows avx2_by_rows[] = {avx2_rows<1>, avx2_rows<2>, avx2_rows<3>, avx2_rows<4>};
constexpr Rows avx_vnni_by_rows[] = {avx_vnni_rows<1>, avx_vnni_rows<2>, avx_vnni_rows<3>, avx_vnni_rows<4>};

constexpr ByteKernels avx512_vnni{"avx512_vnni",   4, 1, 128, most_tile_rows, most_tile_panels,
                                  avx512_vnni_tile};
constexpr ByteKernels avx_vnni{"avx_vnni", 4, 1, 128, 4, 1, tile<avx_vnni_by_rows>};
constexpr ByteKernels avx2{"avx2", 2, 2, 0, 4, 1, tile<avx2_by_rows>};
#endif
constexpr ByteKernels plain{"plain", 2, 2, 0, 4, 1, plain_tile};

#if defined(__x86_64__)
// Asked of the processor, since __builtin_cpu_supports knows this one in GCC 12 but not before Clang 17.
bool has_avx_vnni() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1U << 4)) != 0;
}
#endif

}  // namespace

const ByteKernels* byte_kernels(const char* name) {
    const std::string_view wanted(name);
#if defined(__x86_64__)
    if (wanted == avx512_vnni.name && __builtin_cpu_supports("avx512vnni") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0)
        return &avx512_vnni;
    if (wanted == avx_vnni.name && has_avx_vnni() && __builtin_cpu_supports("avx2") != 0) return &avx_vnni;
    if (wanted == avx2.name && __builtin_cpu_supports("avx2") != 0) return &avx2;
#endif
    return wanted == plain.name ? &plain : nullptr;
}

const ByteKernels& byte_kernels() {
    static const ByteKernels& best = []() -> const ByteKernels& {
        for (const char* name : {"avx512_vnni", "avx_vnni", "avx2"}) {
            if (const ByteKernels* found = byte_kernels(name)) return *found;
        }
        return plain;
    }();
    return best;
}

}  // namespace switchyard::int8

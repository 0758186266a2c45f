#include "digit_kernels.h"

#include <algorithm>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "row_kernels.h"

namespace switchyard::int8 {

#if defined(__x86_64__)

#define SWITCHYARD_DIGITS __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni,avx512vbmi")))

namespace {

constexpr int panel_width = 16, lane_numbers = 4;

// g++ 12 takes the forms without a mask for reading what was never written (GCC bug 105593).
constexpr __mmask16 all_lanes = 0xFFFF;

// Which of 64 bytes stands at each place.
struct alignas(64) Order {
    std::uint8_t from[64] = {};
};

// Of 16 numbers of four bytes: four columns' bytes of each digit, columns in fours, or the even and the odd
// ones of each eight.
constexpr Order order_of_digits(bool halves) {
    Order order;
    for (int quad = 0; quad < 4; ++quad)
        for (int digit = 0; digit < 4; ++digit)
            for (int i = 0; i < 4; ++i) {
                const int column = halves ? quad / 2 * 8 + quad % 2 + 2 * i : 4 * quad + i;
                order.from[(quad * 4 + digit) * 4 + i] = static_cast<std::uint8_t>(column * 4 + digit);
            }
    return order;
}
constexpr Order digits_of_fours = order_of_digits(false), digits_of_eights = order_of_digits(true);

// Of four columns of 16 outputs: the four of each output.
constexpr Order order_of_bytes() {
    Order order;
    for (int o = 0; o < panel_width; ++o)
        for (int i = 0; i < 4; ++i) order.from[4 * o + i] = static_cast<std::uint8_t>(panel_width * i + o);
    return order;
}
constexpr Order bytes_of_outputs = order_of_bytes();

constexpr __mmask16 lanes_of(std::int64_t left) {
    if (left >= panel_width) return all_lanes;
    return static_cast<__mmask16>((1U << std::max<std::int64_t>(left, 0)) - 1U);
}

template <int which>
SWITCHYARD_DIGITS inline __m256i half_of(__m512i x) {
    return _mm512_maskz_extracti64x4_epi64(0xF, x, which);
}

// The bits of the largest magnitude: they are in the order of the numbers, and those of infinity and NaN
// above all others.
SWITCHYARD_DIGITS inline std::uint32_t largest_bits(const float* x, std::int64_t n) {
    const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
    __m512i most = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < n; k += panel_width)
        most = _mm512_maskz_max_epu32(
            all_lanes, most, _mm512_and_si512(_mm512_maskz_loadu_epi32(lanes_of(n - k), x + k), magnitude));
    const __m256i eight = _mm256_max_epu32(half_of<0>(most), half_of<1>(most));
    __m128i four = _mm_max_epu32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0x4E));
    four = _mm_max_epu32(four, _mm_shuffle_epi32(four, 0xB1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(four));
}

// By which power of 2 a block is multiplied, so that its largest magnitude has as many bits as three digits
// hold, and the inverse, which float32 has in full.
struct FixedPoint {
    float factor = 1.0F, unit = 1.0F;
};

bool find_fixed_point(std::uint32_t largest, FixedPoint& found) {
    constexpr std::uint32_t infinity = 0x7F800000U, leading = 1U << 23U;
    constexpr std::uint32_t most = 127U * 65536U + 127U * 256U + 127U;
    constexpr int bias = 127, most_powers = 126;
    if (largest == 0) return true;
    if (largest >= infinity) return false;
    const int power = static_cast<int>(largest >> 23U) - (bias - 1);   // magnitudes of 1/2 to 1 have 0
    const std::uint32_t twice = (largest & (leading - 1U)) | leading;  // in 23 bits, times 2
    const int powers = (twice <= 2 * most ? 23 : 22) - power;
    if (powers > most_powers) return false;
    const auto two_to = [](int exponent) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bias + exponent) << 23U);
    };
    found = {two_to(powers), two_to(-powers)};
    return true;
}

// The digits of some columns of a row, put where they belong, and the sums of each digit.
SWITCHYARD_DIGITS inline __m128i split_block(const RowSplit& row, std::int64_t first, std::int64_t columns,
                                             float factor, __m512i order) {
    const __m512i ones = _mm512_set1_epi8(1);
    // Added and taken off again without a carry, it makes digits -128..127 of bytes 0..255.
    const __m512i middle = _mm512_set1_epi32(0x808080);
    const __m512 scale = _mm512_set1_ps(factor);
    const std::int64_t stride = lane_numbers * row.rows;
    std::int32_t* to = row.digits + first / 4 * stride + row.row * lane_numbers;
    __m512i sums = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < columns; k += panel_width, to += 4 * stride) {
        const __m512 x = _mm512_maskz_loadu_ps(lanes_of(row.in - first - k), row.x + first + k);
        const __m512i number = _mm512_maskz_cvtps_epi32(all_lanes, _mm512_mul_ps(x, scale));
        const __m512i bytes = _mm512_xor_si512(_mm512_add_epi32(number, middle), middle);
        const __m512i digits = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, order, bytes);
        sums = _mm512_dpbusd_epi32(sums, ones, digits);
        if (row.rows == 1) {
            _mm512_mask_storeu_epi32(to, lanes_of(columns - k), digits);
            continue;
        }
        alignas(64) std::int32_t quads[panel_width];
        _mm512_store_si512(quads, digits);
        const std::int64_t count = std::min<std::int64_t>((columns - k) / 4, lane_numbers);
        for (std::int64_t quad = 0; quad < count; ++quad)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + quad * stride),
                             _mm_load_si128(reinterpret_cast<const __m128i*>(quads + quad * lane_numbers)));
    }
    const __m256i eight = _mm256_add_epi32(half_of<0>(sums), half_of<1>(sums));
    return _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
}

SWITCHYARD_DIGITS bool split(const RowSplit& row) {
    const __m512i order = _mm512_load_si512((row.halves ? digits_of_eights : digits_of_fours).from);
    std::int64_t at = row.row;
    for (std::int64_t group = 0; group * row.group < row.columns; ++group) {
        const std::int64_t last = std::min((group + 1) * row.group, row.columns);
        float group_sum = 0.0F;
        for (std::int64_t k = group * row.group; k < last; k += digit_block, at += row.rows) {
            const std::int64_t columns = std::min(digit_block, last - k);
            FixedPoint fixed;
            if (!find_fixed_point(largest_bits(row.x + k, std::min(columns, row.in - k)), fixed))
                return false;
            alignas(16) std::int32_t sums[lane_numbers];
            _mm_store_si128(reinterpret_cast<__m128i*>(sums),
                            split_block(row, k, columns, fixed.factor, order));
            float sum = 0.0F;
            for (std::int64_t digit = digit_count; digit-- > 0;) {
                sum = sum * 256.0F + static_cast<float>(sums[digit]);
                row.sums[at * digit_count + digit] = -added_to_weights(row.halves) * sums[digit];
            }
            row.block_scales[at] = fixed.unit;
            group_sum += sum * fixed.unit;
        }
        row.x_sums[group * row.rows + row.row] = group_sum;
    }
    return true;
}

// What one load of 64 bytes holds: 16 outputs of four columns, or of eight. Their numbers without a sign,
// four columns of an output side by side.
struct DigitBytes {
    static constexpr int quads = 1;
    static SWITCHYARD_DIGITS __m512i order() { return _mm512_load_si512(bytes_of_outputs.from); }
    static SWITCHYARD_DIGITS inline __m512i quad(__m512i all, int, __m512i order) {
        return _mm512_maskz_permutexvar_epi8(~__mmask64{0}, order,
                                             _mm512_xor_si512(all, _mm512_set1_epi8(-128)));
    }
};
struct DigitHalves {
    static constexpr int quads = 2;
    static SWITCHYARD_DIGITS __m512i order() { return _mm512_setzero_si512(); }
    static SWITCHYARD_DIGITS inline __m512i quad(__m512i all, int which, __m512i) {
        // (all ^ 8) & 15 of each byte.
        constexpr int xor_then_and = 0x28;
        const __m512i low = which == 0 ? all : _mm512_maskz_srli_epi32(all_lanes, all, 4);
        return _mm512_ternarylogic_epi32(low, _mm512_set1_epi8(8), _mm512_set1_epi8(15), xor_then_and);
    }
};

// Sums of a block, nine to twelve at a time, since one takes five cycles.
template <class Values, int rows, int panels>
SWITCHYARD_DIGITS inline void block_sums(const std::int32_t*& digits, const std::int8_t* (&from)[panels],
                                         std::int64_t columns, const std::int32_t* start, __m512i order,
                                         __m512 (&sums)[panels][rows]) {
    constexpr int parts = rows * panels == 1 ? 4 : rows * panels == 2 ? 2 : 1;
    constexpr int loads = parts == 1 ? 1 : parts / Values::quads;
    __m512i part[parts][panels][rows][digit_count];
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p)
#pragma GCC unroll 2
        for (int n = 0; n < panels; ++n)
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
                for (int d = 0; d < digit_count; ++d)
                    part[p][n][r][d] =
                        p == 0 ? _mm512_set1_epi32(start[r * digit_count + d]) : _mm512_setzero_si512();
    constexpr int step = 4 * Values::quads;
    std::int64_t left = columns / step;
    while (left > 0) {
        const std::int64_t now = std::min<std::int64_t>(left, loads);
#pragma GCC unroll 4
        for (int load = 0; load < loads; ++load) {
            if (load >= now) break;
            __m512i all[panels];
#pragma GCC unroll 2
            for (int n = 0; n < panels; ++n) {
                _mm_prefetch(reinterpret_cast<const char*>(from[n] + fetched_ahead), _MM_HINT_T0);
                all[n] = _mm512_loadu_si512(from[n]);
                from[n] += 64;
            }
#pragma GCC unroll 2
            for (int q = 0; q < Values::quads; ++q) {
                const int p = (load * Values::quads + q) % parts;
                __m512i weight[panels];
#pragma GCC unroll 2
                for (int n = 0; n < panels; ++n) weight[n] = Values::quad(all[n], q, order);
#pragma GCC unroll 4
                for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
                    for (int d = 0; d < digit_count; ++d) {
                        const __m512i x = _mm512_set1_epi32(digits[r * lane_numbers + d]);
#pragma GCC unroll 2
                        for (int n = 0; n < panels; ++n)
                            part[p][n][r][d] = _mm512_dpbusd_epi32(part[p][n][r][d], weight[n], x);
                    }
                digits += rows * lane_numbers;
            }
        }
        left -= now;
    }
    const __m512 base = _mm512_set1_ps(256.0F);
#pragma GCC unroll 2
    for (int n = 0; n < panels; ++n)
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) {
            __m512i one[digit_count];
#pragma GCC unroll 4
            for (int d = 0; d < digit_count; ++d) {
                one[d] = part[0][n][r][d];
#pragma GCC unroll 4
                for (int p = 1; p < parts; ++p) one[d] = _mm512_add_epi32(one[d], part[p][n][r][d]);
            }
            const __m512 high = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(all_lanes, one[2]), base,
                                                _mm512_maskz_cvtepi32_ps(all_lanes, one[1]));
            sums[n][r] = _mm512_fmadd_ps(high, base, _mm512_maskz_cvtepi32_ps(all_lanes, one[0]));
        }
}

template <class Values, int rows, int panels>
SWITCHYARD_DIGITS void panel_rows(const DigitCall& call) {
    const __m512i order = Values::order();
    __m512 total[panels][rows];
    const std::int8_t* from[panels];
    for (int n = 0; n < panels; ++n) {
        for (auto& one : total[n]) one = _mm512_setzero_ps();
        from[n] = call.panel + n * call.bytes_between;
    }
    const std::int32_t* digits = call.digits;
    const std::int32_t* start = call.sums;
    const float* block_scales = call.block_scales;
    for (std::int64_t g = 0; g < call.groups; ++g) {
        const std::int64_t factors = g * panel_width;
        const std::int64_t last = std::min((g + 1) * call.group, call.columns);
        for (std::int64_t k = g * call.group; k < last; k += digit_block) {
            __m512 sums[panels][rows];
            block_sums<Values, rows, panels>(digits, from, std::min(digit_block, last - k), start, order,
                                             sums);
#pragma GCC unroll 2
            for (int n = 0; n < panels; ++n) {
                const __m512 scale = _mm512_loadu_ps(call.scales + n * call.factors_between + factors);
#pragma GCC unroll 4
                for (int r = 0; r < rows; ++r)
                    total[n][r] = _mm512_fmadd_ps(_mm512_mul_ps(sums[n][r], scale),
                                                  _mm512_set1_ps(block_scales[r]), total[n][r]);
            }
            start += rows * digit_count;
            block_scales += rows;
        }
        if (call.offsets == nullptr) continue;
#pragma GCC unroll 2
        for (int n = 0; n < panels; ++n) {
            const __m512 offset = _mm512_loadu_ps(call.offsets + n * call.factors_between + factors);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
                total[n][r] =
                    _mm512_fnmadd_ps(offset, _mm512_set1_ps(call.x_sums[g * rows + r]), total[n][r]);
        }
    }
    for (int n = 0; n < panels; ++n)
        for (int r = 0; r < rows; ++r) _mm512_storeu_ps(call.y + (n * rows + r) * panel_width, total[n][r]);
}

template <class Values>
void digit_panel(const DigitCall& call) {
    if (call.bytes_between != 0) return panel_rows<Values, 1, 2>(call);
    using Kernel = void (*)(const DigitCall&);
    constexpr Kernel by_rows[most_digit_rows] = {panel_rows<Values, 1, 1>, panel_rows<Values, 2, 1>,
                                                 panel_rows<Values, 3, 1>, panel_rows<Values, 4, 1>};
    by_rows[call.rows - 1](call);
}

constexpr DigitKernels with_vnni{"avx512_vnni", split, digit_panel<DigitBytes>, digit_panel<DigitHalves>};

}  // namespace

const DigitKernels* digit_kernels() {
    static const bool has =
        __builtin_cpu_supports("avx512vnni") != 0 && __builtin_cpu_supports("avx512vbmi") != 0 &&
        __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512vl") != 0;
    return has ? &with_vnni : nullptr;
}

#else

const DigitKernels* digit_kernels() { return nullptr; }

#endif

}  // namespace switchyard::int8

#include "digit_kernels.h"

#include <algorithm>

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

SWITCHYARD_DIGITS void split(DigitsOf& block) {
    const __m512i order = _mm512_load_si512((block.halves ? digits_of_eights : digits_of_fours).from);
    const __m512i ones = _mm512_set1_epi8(1);
    // Added and taken off again without a carry, it makes digits -128..127 of bytes 0..255.
    const __m512i middle = _mm512_set1_epi32(0x808080);
    const __m512 factor = _mm512_set1_ps(block.factor);
    __m512i sums = _mm512_setzero_si512();
    for (std::int64_t k = 0; k < block.columns; k += panel_width) {
        const auto there = std::clamp<std::int64_t>(block.count - k, 0, panel_width);
        const auto some = static_cast<__mmask16>((1U << there) - 1U);
        const __m512 x = _mm512_maskz_loadu_ps(some, block.x + k);
        const __m512i number = _mm512_maskz_cvtps_epi32(all_lanes, _mm512_mul_ps(x, factor));
        const __m512i bytes = _mm512_xor_si512(_mm512_add_epi32(number, middle), middle);
        const __m512i digits = _mm512_maskz_permutexvar_epi8(~__mmask64{0}, order, bytes);
        sums = _mm512_dpbusd_epi32(sums, ones, digits);
        alignas(64) std::int32_t quads[panel_width];
        _mm512_store_si512(quads, digits);
        const std::int64_t count = std::min<std::int64_t>((block.columns - k) / 4, lane_numbers);
        for (std::int64_t quad = 0; quad < count; ++quad)
            _mm_storeu_si128(reinterpret_cast<__m128i*>(block.to + (k / 4 + quad) * block.stride),
                             _mm_load_si128(reinterpret_cast<const __m128i*>(quads + quad * lane_numbers)));
    }
    alignas(64) std::int32_t all[panel_width];
    _mm512_store_si512(all, sums);
    for (int digit = 0; digit < digit_count; ++digit)
        block.sums[digit] = all[digit] + all[4 + digit] + all[8 + digit] + all[12 + digit];
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
template <class Values, int rows>
SWITCHYARD_DIGITS inline void block_sums(const std::int32_t*& digits, const std::int8_t*& from,
                                         std::int64_t columns, const std::int32_t* start, __m512i order,
                                         __m512 (&sums)[rows]) {
    constexpr int loads = rows == 1 ? 4 / Values::quads : rows == 2 ? 2 / Values::quads : 1;
    constexpr int parts = rows == 1 ? 4 : rows == 2 ? 2 : 1;
    __m512i part[parts][rows][digit_count];
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p)
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
            for (int d = 0; d < digit_count; ++d)
                part[p][r][d] =
                    p == 0 ? _mm512_set1_epi32(start[r * digit_count + d]) : _mm512_setzero_si512();
    constexpr int step = 4 * Values::quads;
    std::int64_t left = columns / step;
    while (left > 0) {
        const std::int64_t now = std::min<std::int64_t>(left, loads);
#pragma GCC unroll 4
        for (int load = 0; load < loads; ++load) {
            if (load >= now) break;
            _mm_prefetch(reinterpret_cast<const char*>(from + fetched_ahead), _MM_HINT_T0);
            const __m512i all = _mm512_loadu_si512(from);
            from += 64;
#pragma GCC unroll 2
            for (int q = 0; q < Values::quads; ++q) {
                const __m512i weight = Values::quad(all, q, order);
                const int p = (load * Values::quads + q) % parts;
#pragma GCC unroll 4
                for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
                    for (int d = 0; d < digit_count; ++d)
                        part[p][r][d] = _mm512_dpbusd_epi32(part[p][r][d], weight,
                                                            _mm512_set1_epi32(digits[r * lane_numbers + d]));
                digits += rows * lane_numbers;
            }
        }
        left -= now;
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
        __m512i one[digit_count];
#pragma GCC unroll 4
        for (int d = 0; d < digit_count; ++d) {
            one[d] = part[0][r][d];
#pragma GCC unroll 4
            for (int p = 1; p < parts; ++p) one[d] = _mm512_add_epi32(one[d], part[p][r][d]);
        }
        const __m512 base = _mm512_set1_ps(256.0F);
        sums[r] = _mm512_fmadd_ps(_mm512_maskz_cvtepi32_ps(all_lanes, one[2]), base,
                                  _mm512_maskz_cvtepi32_ps(all_lanes, one[1]));
        sums[r] = _mm512_fmadd_ps(sums[r], base, _mm512_maskz_cvtepi32_ps(all_lanes, one[0]));
    }
}

template <class Values, int rows>
SWITCHYARD_DIGITS void panel_rows(const DigitCall& call) {
    const __m512i order = Values::order();
    __m512 total[rows];
    for (auto& one : total) one = _mm512_setzero_ps();
    const std::int32_t* digits = call.digits;
    const std::int32_t* start = call.sums;
    const std::int8_t* from = call.panel;
    const float* block_scales = call.block_scales;
    for (std::int64_t g = 0; g < call.groups; ++g) {
        const __m512 scale = _mm512_loadu_ps(call.scales + g * panel_width);
        const std::int64_t last = std::min((g + 1) * call.group, call.columns);
        for (std::int64_t k = g * call.group; k < last; k += digit_block) {
            __m512 sums[rows];
            block_sums<Values, rows>(digits, from, std::min(digit_block, last - k), start, order, sums);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
                total[r] =
                    _mm512_fmadd_ps(_mm512_mul_ps(sums[r], scale), _mm512_set1_ps(block_scales[r]), total[r]);
            start += rows * digit_count;
            block_scales += rows;
        }
        if (call.offsets == nullptr) continue;
        const __m512 offset = _mm512_loadu_ps(call.offsets + g * panel_width);
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r)
            total[r] = _mm512_fnmadd_ps(offset, _mm512_set1_ps(call.x_sums[g * rows + r]), total[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) _mm512_storeu_ps(call.y + r * panel_width, total[r]);
}

template <class Values>
void digit_panel(const DigitCall& call) {
    using Kernel = void (*)(const DigitCall&);
    constexpr Kernel by_rows[most_digit_rows] = {panel_rows<Values, 1>, panel_rows<Values, 2>,
                                                 panel_rows<Values, 3>, panel_rows<Values, 4>};
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

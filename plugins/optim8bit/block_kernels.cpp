#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "block_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <hwy/cache_control.h>

#include <switchyard/sdk/cpu/float_rows-inl.h>

#include "block_kernels.h"
#include "dynamic_codes.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::optim8bit::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using U = hn::Rebind<std::uint32_t, F>;
using B = hn::Rebind<std::uint8_t, F>;
using V = hn::Vec<F>;
using VI = hn::Vec<I>;
using switchyard::HWY_NAMESPACE::walk;

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3  // AVX-512
// All lanes. g++ 12 gives the forms without a mask an undefined vector for lanes that are left out, and warns
// of it; with this mask it compiles both to the same instruction.
constexpr __mmask16 all_lanes = 0xFFFF;

// The last four bits of the index count.
V lookup16(F, const float* table, VI index) {
    return V{_mm512_maskz_permutexvar_ps(all_lanes, index.raw, _mm512_load_ps(table))};
}
VI lookup16(I, const std::int32_t* table, VI index) {
    return VI{_mm512_maskz_permutexvar_epi32(all_lanes, index.raw, _mm512_load_si512(table))};
}

// Of numbers up to 255.
void store_codes(VI codes, std::uint8_t* to) {
    const VI positive = hn::Max(codes, hn::Zero(I()));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(all_lanes, positive.raw));
}

// The book's low and high halves of 16 bits, 64 of which two registers hold: a permutation of two registers
// looks 32 codes up at once.
struct SplitBook {
    explicit SplitBook(const CodeBook& book) {
        for (std::size_t c = 0; c < book.size(); ++c) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, &book[c], sizeof bits);
            low[c] = static_cast<std::uint16_t>(bits);
            high[c] = static_cast<std::uint16_t>(bits >> 16U);
        }
    }
    alignas(64) std::uint16_t low[256];
    alignas(64) std::uint16_t high[256];
};

__m512i halves_of(const __m512i* table, __m512i codes, __mmask32 bit6, __mmask32 bit7) {
    const __m512i a = _mm512_permutex2var_epi16(table[0], codes, table[1]);
    const __m512i b = _mm512_permutex2var_epi16(table[2], codes, table[3]);
    const __m512i c = _mm512_permutex2var_epi16(table[4], codes, table[5]);
    const __m512i d = _mm512_permutex2var_epi16(table[6], codes, table[7]);
    return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(a, bit6, b), bit7, _mm512_mask_mov_epi16(c, bit6, d));
}

void decode(const std::uint8_t* codes, const SplitBook& book, float scale, float* out) {
    __m512i low[8], high[8];
    for (int i = 0; i < 8; ++i) {
        low[i] = _mm512_load_si512(book.low + 32 * i);
        high[i] = _mm512_load_si512(book.high + 32 * i);
    }
    alignas(64) std::uint16_t first[32], second[32];  // low halves from 0 on, high ones from 32 on
    for (std::uint16_t i = 0; i < 16; ++i) {
        first[2 * i] = i, first[2 * i + 1] = static_cast<std::uint16_t>(32 + i);
        second[2 * i] = static_cast<std::uint16_t>(16 + i);
        second[2 * i + 1] = static_cast<std::uint16_t>(48 + i);
    }
    const __m512i take_first = _mm512_load_si512(first), take_second = _mm512_load_si512(second);
    const __m512 factor = _mm512_set1_ps(scale);
    for (std::int64_t j = 0; j < block; j += 32) {
        const __m512i c =
            _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + j)));
        const __mmask32 bit6 = _mm512_test_epi16_mask(c, _mm512_set1_epi16(64));
        const __mmask32 bit7 = _mm512_test_epi16_mask(c, _mm512_set1_epi16(128));
        const __m512i l = halves_of(low, c, bit6, bit7), h = halves_of(high, c, bit6, bit7);
        const __m512 a = _mm512_castsi512_ps(_mm512_permutex2var_epi16(l, take_first, h));
        const __m512 b = _mm512_castsi512_ps(_mm512_permutex2var_epi16(l, take_second, h));
        _mm512_store_ps(out + j, _mm512_mul_ps(a, factor));
        _mm512_store_ps(out + j + 16, _mm512_mul_ps(b, factor));
    }
}
#else
V lookup16(F f, const float* table, VI index) {
    return hn::GatherIndex(f, table, hn::And(index, hn::Set(I(), 15)));
}
VI lookup16(I i, const std::int32_t* table, VI index) {
    return hn::GatherIndex(i, table, hn::And(index, hn::Set(i, 15)));
}

void store_codes(VI codes, std::uint8_t* to) {
    const B b;
    hn::StoreU(hn::DemoteTo(b, codes), b, to);
}

struct SplitBook {
    explicit SplitBook(const CodeBook& codes) : book(codes) {}
    const CodeBook& book;
};

void decode(const std::uint8_t* codes, const SplitBook& split, float scale, float* out) {
    for (std::int64_t j = 0; j < block; ++j) out[j] = split.book[codes[j]] * scale;
}
#endif

struct Books {
    SplitBook first{signed_codes()}, second{unsigned_codes()};
    alignas(64) CodeFinder signed_places = signed_finder();
    alignas(64) CodeFinder unsigned_places = unsigned_finder();
};

const Books& books() {
    static const Books all;
    return all;
}

struct Product {
    hn::Vec<U> high, low;
};
// Both halves of 32-bit products; b is the same in all lanes.
Product product(U u, hn::Vec<U> a, hn::Vec<U> b) {
#if HWY_TARGET == HWY_SCALAR
    const std::uint64_t whole = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
    return {hn::Set(u, static_cast<std::uint32_t>(whole >> 32U)),
            hn::Set(u, static_cast<std::uint32_t>(whole))};
#else
    const hn::RepartitionToWide<U> wide;
    const auto even = hn::BitCast(wide, hn::MulEven(a, b));
    const auto odd =
        hn::BitCast(wide, hn::MulEven(hn::BitCast(u, hn::ShiftRight<32>(hn::BitCast(wide, a))), b));
    return {hn::OddEven(hn::BitCast(u, odd), hn::BitCast(u, hn::ShiftRight<32>(even))),
            hn::OddEven(hn::BitCast(u, hn::ShiftLeft<32>(odd)), hn::BitCast(u, even))};
#endif
}

// 32 bits for each value of a block: the low half for the first moment, the high half for the second. Salmon
// et al. 2011 (<switchyard/interfaces/dropout.h>).
void fill_chance(const Chance& chance, std::int64_t number, std::uint32_t* out) {
    const U u;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(u));
    const auto m0 = hn::Set(u, 0xD2511F53U), m1 = hn::Set(u, 0xCD9E8D57U);
    for (std::int64_t call = 0; call < block / 4; call += lanes) {
        auto c0 = hn::Iota(u, static_cast<std::uint32_t>(call));
        auto c1 = hn::Set(u, chance.first_block + static_cast<std::uint32_t>(number));
        auto c2 = hn::Set(u, chance.parameter), c3 = hn::Set(u, chance.step);
        auto low = static_cast<std::uint32_t>(chance.seed);
        auto high = static_cast<std::uint32_t>(chance.seed >> 32U);
        for (int round = 0; round < 10; ++round) {
            const Product first = product(u, c0, m0), second = product(u, c2, m1);
            c0 = hn::Xor(hn::Xor(second.high, c1), hn::Set(u, low));
            c1 = second.low;
            c2 = hn::Xor(hn::Xor(first.high, c3), hn::Set(u, high));
            c3 = first.low;
            low += 0x9E3779B9U;
            high += 0xBB67AE85U;
        }
        hn::StoreU(c0, u, out + call);
        hn::StoreU(c1, u, out + block / 4 + call);
        hn::StoreU(c2, u, out + block / 2 + call);
        hn::StoreU(c3, u, out + 3 * block / 4 + call);
    }
}

// How far from the code of 0 the code of a magnitude is.
struct Places {
    const CodeFinder& finder;
    const float* magnitudes;  // from the code of 0 on
    std::int32_t most;        // place of the last decade's last code

    VI piece(I i, V y) const {
        const F f;
        const V some = hn::Max(y, hn::Set(f, 0x1p-30F));
        const VI cell = hn::ShiftRight<24>(hn::BitCast(i, some));
        const V threshold = lookup16(f, finder.threshold.data(), cell);
        const VI below = lookup16(i, finder.below.data(), cell);
        return hn::IfThenElse(hn::RebindMask(i, hn::Ge(y, threshold)), hn::Add(below, hn::Set(i, 1)), below);
    }
    V position(V y, VI piece) const {
        const F f;
        const V p =
            hn::MulAdd(y, lookup16(f, finder.slope.data(), piece), lookup16(f, finder.offset.data(), piece));
        return hn::Min(p, lookup16(f, finder.last.data(), piece));
    }
    V nearest(I i, V y) const { return position(y, piece(i, y)); }
    // The code below, or the one above it, by chance: u in [0, 1).
    VI by_chance(I i, V y, V u) const {
        const F f;
        const VI in = hn::Min(piece(i, y), hn::Set(i, 7));
        const VI below = hn::Min(hn::ConvertTo(i, hn::Floor(position(y, in))), hn::Set(i, most));
        const VI above = hn::Add(below, hn::Set(i, 1));
        const V low = hn::GatherIndex(f, magnitudes, below), high = hn::GatherIndex(f, magnitudes, above);
        const auto up = hn::Lt(hn::Mul(u, hn::Sub(high, low)), hn::Sub(y, low));
        return hn::Sub(below, hn::VecFromMask(i, hn::RebindMask(i, up)));
    }
};

// 1 / largest, or 0 where nothing is left of the block.
float inverse_of(float largest) { return largest > 0x1p-126F ? 1.0F / largest : 0.0F; }

template <bool random>
void encode_signed(const float* x, float largest, std::uint8_t* codes, const std::uint32_t* chance,
                   const float* ahead) {
    const F f;
    const I i;
    const U u;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const Places places{books().signed_places, signed_codes().data() + signed_zero, 127};
    const V inverse = hn::Set(f, inverse_of(largest));
    for (std::int64_t j = 0; j < block; j += lanes) {
        hwy::Prefetch(ahead + j);
        const V value = hn::Load(f, x + j);
        const V y = hn::Mul(hn::Abs(value), inverse);
        VI place;
        if constexpr (random) {
            const auto bits = hn::And(hn::Load(u, chance + j), hn::Set(u, 0xFFFFU));
            const V number = hn::Mul(hn::ConvertTo(f, hn::BitCast(i, bits)), hn::Set(f, 0x1p-16F));
            const VI magnitude = places.by_chance(i, y, number);
            const auto minus = hn::RebindMask(i, hn::Lt(value, hn::Zero(f)));
            place = hn::IfThenElse(minus, hn::Neg(magnitude), magnitude);
        } else {
            place = hn::NearestInt(hn::CopySign(places.nearest(i, y), value));
        }
        store_codes(hn::Add(place, hn::Set(i, signed_zero)), codes + j);
    }
}

// What is not 0 does not become 0: m / (sqrt(0) + eps) would be a leap.
template <bool random>
void encode_unsigned(const float* x, float largest, std::uint8_t* codes, const std::uint32_t* chance,
                     const float* ahead) {
    const F f;
    const I i;
    const U u;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    const Places places{books().unsigned_places, unsigned_codes().data(), 254};
    const V inverse = hn::Set(f, inverse_of(largest));
    for (std::int64_t j = 0; j < block; j += lanes) {
        hwy::Prefetch(ahead + j);
        const V value = hn::Load(f, x + j);
        const V y = hn::Mul(value, inverse);
        VI place;
        if constexpr (random) {
            const auto bits = hn::ShiftRight<16>(hn::Load(u, chance + j));
            place =
                places.by_chance(i, y, hn::Mul(hn::ConvertTo(f, hn::BitCast(i, bits)), hn::Set(f, 0x1p-16F)));
        } else {
            place = hn::NearestInt(places.nearest(i, y));
        }
        const auto some = hn::RebindMask(i, hn::Gt(value, hn::Zero(f)));
        place = hn::IfThenElseZero(some, hn::Max(place, hn::Set(i, 1)));
        store_codes(place, codes + j);
    }
}

struct AdamW {
    explicit AdamW(const StepNumbers& n)
        : factor(hn::Set(F(), n.gradient_factor)),
          keep(hn::Set(F(), n.keep)),
          beta1(hn::Set(F(), n.beta1)),
          rest1(hn::Set(F(), n.rest1)),
          beta2(hn::Set(F(), n.beta2)),
          rest2(hn::Set(F(), n.rest2)),
          rate(hn::Set(F(), n.rate)),
          root(hn::Set(F(), n.root)),
          eps(hn::Set(F(), n.eps)) {}
    V operator()(V w, V g, V& m, V& v) const {
        g = hn::Mul(g, factor);
        m = hn::MulAdd(m, beta1, hn::Mul(g, rest1));
        v = hn::MulAdd(v, beta2, hn::Mul(hn::Mul(g, g), rest2));
        const V step = hn::Div(m, hn::MulAdd(hn::Sqrt(v), root, eps));
        return hn::NegMulAdd(rate, step, hn::Mul(w, keep));
    }
    V factor, keep, beta1, rest1, beta2, rest2, rate, root, eps;
};

struct Lion {
    explicit Lion(const StepNumbers& n)
        : factor(hn::Set(F(), n.gradient_factor)),
          keep(hn::Set(F(), n.keep)),
          beta1(hn::Set(F(), n.beta1)),
          rest1(hn::Set(F(), n.rest1)),
          beta2(hn::Set(F(), n.beta2)),
          rest2(hn::Set(F(), n.rest2)),
          rate(hn::Set(F(), n.rate)) {}
    V operator()(V w, V g, V& m) const {
        const F f;
        g = hn::Mul(g, factor);
        const V c = hn::MulAdd(m, beta1, hn::Mul(g, rest1));
        m = hn::MulAdd(m, beta2, hn::Mul(g, rest2));
        const V step = hn::IfThenZeroElse(hn::Eq(c, hn::Zero(f)), hn::CopySign(rate, c));
        return hn::Sub(hn::Mul(w, keep), step);
    }
    V factor, keep, beta1, rest1, beta2, rest2, rate;
};

float largest_of(V x) { return hn::GetLane(hn::MaxOfLanes(F(), x)); }

// Blocks are computed upon longer than the processor looks ahead by itself: memory would wait for them, and
// they for memory.
constexpr std::int64_t ahead = 2 * block;

struct Scratch {
    alignas(64) float m[block], v[block];
    alignas(64) std::uint32_t chance[block];
};

// `seen`: a sum of 0 * moment.
bool all_finite(V seen) { return hn::AllTrue(F(), hn::Eq(seen, hn::Zero(F()))); }

// A value whose moments are not finite loses them: as the scale of its block they would be those of 255
// neighbours. Its weight stays what the step made of it, as it would with moments in float32. The second
// moment tells, where there is one: what overflows the first overflows it, too. Returns the largest
// magnitudes of m.
V without_lost(float* m, float* v, V& most_v) {
    const F f;
    V most_m = hn::Zero(f);
    most_v = hn::Zero(f);
    for (std::int64_t j = 0; j < block; j += static_cast<std::int64_t>(hn::Lanes(f))) {
        const V telling = hn::Load(f, (v == nullptr ? m : v) + j);
        const auto kept = hn::Eq(hn::Mul(telling, hn::Zero(f)), hn::Zero(f));
        const V first = hn::IfThenElseZero(kept, hn::Load(f, m + j));
        hn::Store(first, f, m + j);
        most_m = hn::Max(most_m, hn::Abs(first));
        if (v == nullptr) continue;
        const V second = hn::IfThenElseZero(kept, telling);
        hn::Store(second, f, v + j);
        most_v = hn::Max(most_v, second);
    }
    return most_m;
}

template <bool random>
void adamw_block(float* w, const float* g, Codes m, Codes v, const AdamW& step, const Chance& chance,
                 std::int64_t number, Scratch& scratch) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    decode(m.codes, books().first, *m.largest, scratch.m);
    decode(v.codes, books().second, *v.largest, scratch.v);
    V most_m = hn::Zero(f), most_v = most_m, seen = most_m;
    for (std::int64_t j = 0; j < block; j += lanes) {
        V first = hn::Load(f, scratch.m + j), second = hn::Load(f, scratch.v + j);
        hn::StoreU(step(hn::LoadU(f, w + j), hn::LoadU(f, g + j), first, second), f, w + j);
        most_m = hn::Max(most_m, hn::Abs(first));
        most_v = hn::Max(most_v, second);
        seen = hn::MulAdd(second, hn::Zero(f), seen);
        hn::Store(first, f, scratch.m + j);
        hn::Store(second, f, scratch.v + j);
    }
    if (!all_finite(seen)) [[unlikely]]
        most_m = without_lost(scratch.m, scratch.v, most_v);
    if constexpr (random) fill_chance(chance, number, scratch.chance);
    encode_signed<random>(scratch.m, *m.largest = largest_of(most_m), m.codes, scratch.chance, w + ahead);
    encode_unsigned<random>(scratch.v, *v.largest = largest_of(most_v), v.codes, scratch.chance, g + ahead);
}

template <bool random>
void lion_block(float* w, const float* g, Codes m, const Lion& step, const Chance& chance,
                std::int64_t number, Scratch& scratch) {
    const F f;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(f));
    decode(m.codes, books().first, *m.largest, scratch.m);
    V most = hn::Zero(f), seen = most;
    for (std::int64_t j = 0; j < block; j += lanes) {
        V first = hn::Load(f, scratch.m + j);
        hn::StoreU(step(hn::LoadU(f, w + j), hn::LoadU(f, g + j), first), f, w + j);
        most = hn::Max(most, hn::Abs(first));
        seen = hn::MulAdd(first, hn::Zero(f), seen);
        hn::Store(first, f, scratch.m + j);
    }
    if (!all_finite(seen)) [[unlikely]] {
        V no_second;
        most = without_lost(scratch.m, nullptr, no_second);
    }
    if constexpr (random) fill_chance(chance, number, scratch.chance);
    encode_signed<random>(scratch.m, *m.largest = largest_of(most), m.codes, scratch.chance, w + ahead);
}

// do_block(w, g, codes of m, of v, number); what is left of the last block is filled up with zeros beside it.
template <class DoBlock>
void each_block(float* w, const float* g, std::int64_t n, Codes m, Codes v, const DoBlock& do_block) {
    const std::int64_t whole = n / block;
    const auto at = [](Codes codes, std::int64_t b) {
        return codes.codes == nullptr ? codes : Codes{codes.codes + b * block, codes.largest + b};
    };
    for (std::int64_t b = 0; b < whole; ++b) do_block(w + b * block, g + b * block, at(m, b), at(v, b), b);
    const std::int64_t rest = n - whole * block, begin = whole * block;
    if (rest == 0) return;
    alignas(64) float w_rest[block] = {}, g_rest[block] = {};
    std::uint8_t m_rest[block], v_rest[block];
    std::fill_n(m_rest, block, signed_zero);
    std::fill_n(v_rest, block, unsigned_zero);
    std::copy_n(w + begin, rest, w_rest);
    std::copy_n(g + begin, rest, g_rest);
    std::copy_n(m.codes + begin, rest, m_rest);
    if (v.codes != nullptr) std::copy_n(v.codes + begin, rest, v_rest);
    do_block(w_rest, g_rest, Codes{m_rest, m.largest + whole}, Codes{v_rest, v.largest + whole}, whole);
    std::copy_n(w_rest, rest, w + begin);
    std::copy_n(m_rest, rest, m.codes + begin);
    if (v.codes != nullptr) std::copy_n(v_rest, rest, v.codes + begin);
}

void adamw_codes(float* w, const float* g, std::int64_t n, Codes m, Codes v, const StepNumbers& numbers,
                 const Chance& chance) {
    const AdamW step(numbers);
    Scratch scratch;
    each_block(w, g, n, m, v, [&](float* w, const float* g, Codes m, Codes v, std::int64_t number) {
        chance.on ? adamw_block<true>(w, g, m, v, step, chance, number, scratch)
                  : adamw_block<false>(w, g, m, v, step, chance, number, scratch);
    });
}

void lion_codes(float* w, const float* g, std::int64_t n, Codes m, const StepNumbers& numbers,
                const Chance& chance) {
    const Lion step(numbers);
    Scratch scratch;
    each_block(w, g, n, m, {}, [&](float* w, const float* g, Codes m, Codes, std::int64_t number) {
        chance.on ? lion_block<true>(w, g, m, step, chance, number, scratch)
                  : lion_block<false>(w, g, m, step, chance, number, scratch);
    });
}

void adamw_floats(float* w, const float* g, std::int64_t n, float* m, float* v, const StepNumbers& numbers) {
    const AdamW step(numbers);
    walk<3>({w, m, v, g}, n, [&](V(&x)[4], std::int64_t) { x[0] = step(x[0], x[3], x[1], x[2]); });
}

void lion_floats(float* w, const float* g, std::int64_t n, float* m, const StepNumbers& numbers) {
    const Lion step(numbers);
    walk<2>({w, m, g}, n, [&](V(&x)[3], std::int64_t) { x[0] = step(x[0], x[2], x[1]); });
}

}  // namespace

const BlockKernels& kernels() {
    static const BlockKernels all{adamw_codes, lion_codes, adamw_floats, lion_floats,
                                  switchyard::HWY_NAMESPACE::row_functions()};
    return all;
}

}  // namespace switchyard::optim8bit::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::optim8bit {

HWY_EXPORT(kernels);

const BlockKernels& block_kernels() {
    static const BlockKernels& chosen = HWY_DYNAMIC_DISPATCH(kernels)();
    return chosen;
}

}  // namespace switchyard::optim8bit
#endif

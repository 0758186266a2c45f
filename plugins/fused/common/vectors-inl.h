// Vectors that every kernel here works with: float32 in the registers, whatever lies in memory; exp and Phi;
// dropout's numbers.
// Included once for each of Highway's targets, so it has no include guard but this:
#if defined(SWITCHYARD_FUSED_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SWITCHYARD_FUSED_VECTORS_INL_H
#undef SWITCHYARD_FUSED_VECTORS_INL_H
#else
#define SWITCHYARD_FUSED_VECTORS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <switchyard/interfaces/dropout.h>
#include <switchyard/sdk/cpu/float_rows-inl.h>

#include "dropout_row.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using U = hn::Rebind<std::uint32_t, F>;
using Half16 = hn::Rebind<std::uint16_t, F>;
using V = hn::Vec<F>;

constexpr std::size_t most_lanes = HWY_MAX_BYTES / sizeof(float);

HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(F())); }

template <class T>
HWY_INLINE V load(F f, const T* from) {
    return switchyard::HWY_NAMESPACE::load_float(f, from);
}
template <class T>
HWY_INLINE void store(F f, V v, T* to) {
    switchyard::HWY_NAMESPACE::store_float(f, v, to);
}

// A whole vector, or the last and smaller part of a row; what lies past it reads as zero and is not written.
struct Whole {};
struct Some {
    std::int64_t count;
};

template <class T>
HWY_INLINE V load(F f, const T* from, Whole /*part*/) {
    return load(f, from);
}
template <class T>
HWY_INLINE V load(F f, const T* from, Some part) {
    T spare[most_lanes] = {};
    std::memcpy(static_cast<void*>(spare), from, static_cast<std::size_t>(part.count) * sizeof(T));
    return load(f, spare);
}
template <class T>
HWY_INLINE void store(F f, V v, T* to, Whole /*part*/) {
    store(f, v, to);
}
template <class T>
HWY_INLINE void store(F f, V v, T* to, Some part) {
    T spare[most_lanes];
    store(f, v, spare);
    std::memcpy(static_cast<void*>(to), spare, static_cast<std::size_t>(part.count) * sizeof(T));
}
// Around the caches, for results larger than the last of them; rows are aligned then.
HWY_INLINE void stream(F f, V v, float* to) { hn::Stream(v, f, to); }
HWY_INLINE void stream(F /*f*/, V v, c10::BFloat16* to) {
    hn::Stream(switchyard::HWY_NAMESPACE::bfloat16_bits(v), Half16(), reinterpret_cast<std::uint16_t*>(to));
}
HWY_INLINE void stream(F f, V v, c10::Half* to) { store(f, v, to); }
template <class T>
HWY_INLINE void store(F f, V v, T* to, Whole /*part*/, bool streams) {
    if (streams) return stream(f, v, to);
    store(f, v, to);
}
template <class T>
HWY_INLINE void store(F f, V v, T* to, Some part, bool /*streams*/) {
    store(f, v, to, part);
}

// What a sweep will read `ahead` values later. Pays where several rows are read side by side and much is
// computed in between; what lies past the end of an array is not touched by it.
template <class T>
HWY_INLINE void fetch_ahead(const T* at, std::int64_t ahead = 512) {
    hwy::Prefetch(at + ahead);
}

HWY_INLINE V only(F /*f*/, V v, Whole /*part*/) { return v; }
HWY_INLINE V only(F f, V v, Some part) {
    return hn::IfThenElseZero(hn::FirstN(f, static_cast<std::size_t>(part.count)), v);
}

// body(first column, part, which of four): sums that take turns do not wait for each other.
template <class Body>
HWY_INLINE void over_row(std::int64_t n, const Body& body) {
    const std::int64_t step = lanes();
    std::int64_t j = 0;
    for (; j + 4 * step <= n; j += 4 * step) {
        body(j, Whole(), 0);
        body(j + step, Whole(), 1);
        body(j + 2 * step, Whole(), 2);
        body(j + 3 * step, Whole(), 3);
    }
    for (; j + step <= n; j += step) body(j, Whole(), 0);
    if (j < n) body(j, Some{n - j}, 1);
}

// The same where nothing is summed up.
template <class Body>
HWY_INLINE void over_values(std::int64_t n, const Body& body) {
    const std::int64_t step = lanes();
    std::int64_t j = 0;
    for (; j + step <= n; j += step) body(j, Whole());
    if (j < n) body(j, Some{n - j});
}

// As many as take turns: 2 or 4.
template <int turns = 4>
struct Sums {
    V parts[turns];
    HWY_INLINE Sums() {
        for (V& part : parts) part = hn::Zero(F());
    }
    HWY_INLINE float total() const {
        V all = hn::Add(parts[0], parts[1]);
        if constexpr (turns == 4) all = hn::Add(all, hn::Add(parts[2], parts[3]));
        return hn::GetLane(hn::SumOfLanes(F(), all));
    }
};

// e^x for x <= 88; 0 below -87.7. To the nearest multiple of ln 2, which is taken off in two pieces (Cody &
// Waite 1980, Software Manual for the Elementary Functions, chapter 6); the rest, in [-ln 2 / 2, ln 2 / 2],
// by a polynomial of degree 6 fitted there to the relative error: 3.1e-9, so that the last roundings, each
// 2^-24, are what remains. NaN stays NaN: Max gives its second argument then.
HWY_INLINE V exp(F f, V x) {
    x = hn::Max(hn::Set(f, -88.0F), x);
    const V whole = hn::Round(hn::Mul(x, hn::Set(f, 1.44269504F)));
    V rest = hn::NegMulAdd(whole, hn::Set(f, 0.693145752F), x);
    rest = hn::NegMulAdd(whole, hn::Set(f, 1.42860677e-6F), rest);
    V y = hn::Set(f, 1.3814540e-3F);
    y = hn::MulAdd(y, rest, hn::Set(f, 8.3687451e-3F));
    y = hn::MulAdd(y, rest, hn::Set(f, 4.1668391e-2F));
    y = hn::MulAdd(y, rest, hn::Set(f, 1.6666520e-1F));
    y = hn::MulAdd(y, rest, hn::Set(f, 4.9999993e-1F));
    y = hn::MulAdd(hn::Mul(y, rest), rest, rest);
    y = hn::Add(y, hn::Set(f, 1.0F));
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
    // Masked, with all lanes: g++ 12 compiles both forms to one instruction, and warns of the undefined
    // vector that it gives the other for lanes that are left out.
    return V{_mm512_maskz_scalef_ps(0xFFFF, y.raw, whole.raw)};
#else
    const I i;
    const auto exponent = hn::Add(hn::ConvertTo(i, whole), hn::Set(i, 127));
    return hn::Mul(y, hn::BitCast(f, hn::ShiftLeft<23>(exponent)));
#endif
}

// The 16-bit numbers of `groups` groups of 64 columns in the order of the columns
// (<switchyard/interfaces/dropout.h>). A 64-bit lane makes one of a group's eight calls: products need no
// putting together, for a lane's upper half is never read. Writes up to 3 groups more.
HWY_INLINE void draw_numbers(std::uint16_t* numbers, std::int64_t groups, std::uint64_t seed,
                             const RowPosition& at) {
#if HWY_TARGET == HWY_SCALAR
    for (std::int64_t call = 0; call < 8 * groups; ++call) {
        const auto made = philox4x32_10({static_cast<std::uint32_t>(call), at.row, 0, at.document}, seed);
        std::uint16_t* const to = numbers + call / 8 * 64 + call % 8 * 2;
        for (std::size_t word = 0; word < 4; ++word)
            std::memcpy(to + 16 * word, &made[word], sizeof(made[word]));
    }
#else
    const hn::CappedTag<std::uint64_t, 8> wide;
    const hn::Repartition<std::uint32_t, decltype(wide)> pairs;
    const hn::Rebind<std::uint32_t, decltype(wide)> narrow;
    constexpr int at_once = 4;
    const auto step = static_cast<std::int64_t>(hn::Lanes(wide));
    const auto m0 = hn::Set(pairs, 0xD2511F53U), m1 = hn::Set(pairs, 0xCD9E8D57U);
    const auto counted = hn::Iota(wide, 0);  // once: Highway makes it in memory
    auto* const words = reinterpret_cast<std::uint32_t*>(numbers);
    for (std::int64_t call = 0; call < 8 * groups; call += at_once * step) {
        hn::Vec<decltype(wide)> c0[at_once], c1[at_once], c2[at_once], c3[at_once];
        for (int i = 0; i < at_once; ++i) {
            c0[i] = hn::Add(counted, hn::Set(wide, static_cast<std::uint64_t>(call + i * step)));
            c1[i] = hn::Set(wide, at.row);
            c2[i] = hn::Zero(wide);
            c3[i] = hn::Set(wide, at.document);
        }
        auto key_low = static_cast<std::uint32_t>(seed), key_high = static_cast<std::uint32_t>(seed >> 32U);
        for (int round = 0; round < 10; ++round) {
            const auto low = hn::Set(wide, key_low), high = hn::Set(wide, key_high);
            for (int i = 0; i < at_once; ++i) {
                const auto first = hn::MulEven(hn::BitCast(pairs, c0[i]), m0);
                const auto second = hn::MulEven(hn::BitCast(pairs, c2[i]), m1);
                c0[i] = hn::Xor3(hn::ShiftRight<32>(second), c1[i], low);
                c1[i] = second;
                c2[i] = hn::Xor3(hn::ShiftRight<32>(first), c3[i], high);
                c3[i] = first;
            }
            key_low += 0x9E3779B9U;
            key_high += 0xBB67AE85U;
        }
        for (int i = 0; i < at_once; ++i) {
            const std::int64_t at_call = call + i * step;
            std::uint32_t* const to = words + at_call / 8 * 32 + at_call % 8;
            hn::StoreU(hn::TruncateTo(narrow, c0[i]), narrow, to);
            hn::StoreU(hn::TruncateTo(narrow, c1[i]), narrow, to + 8);
            hn::StoreU(hn::TruncateTo(narrow, c2[i]), narrow, to + 16);
            hn::StoreU(hn::TruncateTo(narrow, c3[i]), narrow, to + 24);
        }
    }
#endif
}

// v * scale where the number is at least the threshold, 0 elsewhere. Numbers past a row's end may be read.
HWY_INLINE V drop(F f, V v, const std::uint16_t* numbers, std::uint32_t threshold, float scale) {
    const I i;
    const auto number = hn::PromoteTo(i, hn::LoadU(Half16(), numbers));
    const auto keeps =
        hn::RebindMask(f, hn::Gt(number, hn::Set(i, static_cast<std::int32_t>(threshold) - 1)));
    return hn::IfThenElseZero(keeps, hn::Mul(v, hn::Set(f, scale)));
}

}  // namespace
}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

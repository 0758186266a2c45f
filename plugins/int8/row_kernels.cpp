#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "row_kernels.cpp"
// The baseline, AVX2 and AVX-512.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4)
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <switchyard/sdk/cpu/float_rows-inl.h>
#include <switchyard/sdk/cpu/panels-inl.h>

#include "row_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::int8::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using I = hn::Rebind<std::int32_t, F>;
using B = hn::Rebind<std::int8_t, F>;
using V = hn::Vec<F>;

constexpr int outputs = 16;
constexpr int lanes = HWY_MIN(static_cast<int>(HWY_LANES(float)), outputs);
constexpr int vectors = outputs / lanes;  // of a panel's column

constexpr int line_bytes = 64;

float largest(const float* x, std::int64_t n) {
    const F f;
    V most = hn::Zero(f);
    auto nan = hn::IsNaN(most);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
        const V one = hn::LoadU(f, x + i);
        nan = hn::Or(nan, hn::IsNaN(one));
        most = hn::Max(most, hn::Abs(one));
    }
    float result = hn::GetLane(hn::MaxOfLanes(f, most));
    bool any = !hn::AllFalse(f, nan);
    for (; i < n; ++i) {
        any = any || std::isnan(x[i]);
        result = std::max(result, std::abs(x[i]));
    }
    return any ? std::numeric_limits<float>::quiet_NaN() : result;
}

hn::Vec<I> rounded(V x, V scale) {
    const F f;
    const V most = hn::Set(f, 127.0F);
    return hn::NearestInt(hn::Max(hn::Min(hn::Div(x, scale), most), hn::Neg(most)));
}

// store(numbers, i) for a vector's worth of them, and of what is left with `count` of them.
template <class Store>
void each_rounded(const float* x, std::int64_t n, float scale, const Store& store) {
    const F f;
    const V factor = hn::Set(f, scale);
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) store(rounded(hn::LoadU(f, x + i), factor), i, lanes);
    if (i == n) return;
    float rest[outputs] = {};
    std::copy(x + i, x + n, rest);
    store(rounded(hn::LoadU(f, rest), factor), i, n - i);
}

template <class Number>
void store_some(hn::Vec<I> numbers, std::int64_t count, Number* to) {
    const hn::Rebind<Number, F> n;
    if (count == lanes) return hn::StoreU(hn::DemoteTo(n, numbers), n, to);
    Number all[outputs];
    hn::StoreU(hn::DemoteTo(n, numbers), n, all);
    std::copy_n(all, count, to);
}

void to_int16(const float* x, std::int64_t n, float scale, std::int16_t* to) {
    each_rounded(x, n, scale, [&](hn::Vec<I> numbers, std::int64_t i, std::int64_t count) {
        store_some(numbers, count, to + i);
    });
}

void to_uint8(const float* x, std::int64_t n, float scale, std::int32_t added, std::uint8_t* to) {
    const auto more = hn::Set(I(), added);
    each_rounded(x, n, scale, [&](hn::Vec<I> numbers, std::int64_t i, std::int64_t count) {
        store_some(hn::Add(numbers, more), count, to + i);
    });
}

// What one load of a panel holds: 16 outputs of one column, or of eight. use(column, values) for each column.
struct Bytes {
    static constexpr int columns = 1, bytes = outputs;
    template <class Use>
    static HWY_INLINE void each(const std::int8_t* from, int vector, const Use& use) {
        use(0, hn::ConvertTo(F(), hn::PromoteTo(I(), hn::LoadU(B(), from + vector * lanes))));
    }
};
struct Halves {
    static constexpr int columns = 8, bytes = outputs * 4;
    template <class Use>
    static HWY_INLINE void each(const std::int8_t* from, int vector, const Use& use) {
        const auto all = hn::LoadU(I(), reinterpret_cast<const std::int32_t*>(from) + vector * lanes);
        each_of(all, use, std::make_integer_sequence<int, columns>());
    }

private:
    template <class Use, int... column>
    static HWY_INLINE void each_of(hn::Vec<I> all, const Use& use, std::integer_sequence<int, column...>) {
        (use(column, value<column>(all)), ...);
    }
    template <int column>
    static HWY_INLINE V value(hn::Vec<I> all) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
        // A look-up takes the lowest four bits of its index and leaves the others alone.
        HWY_ALIGN static constexpr float table[outputs] = {0,  1,  2,  3,  4,  5,  6,  7,
                                                           -8, -7, -6, -5, -4, -3, -2, -1};
        return V{_mm512_maskz_permutexvar_ps(__mmask16{0xFFFF}, hn::ShiftRight<4 * column>(all).raw,
                                             hn::Load(F(), table).raw)};
#else
        return hn::ConvertTo(F(), hn::ShiftRight<28>(hn::ShiftLeft<28 - 4 * column>(all)));
#endif
    }
};

// At least eight sums at a time: fewer would wait for each other, two multiply-adds of a cycle taking four.
template <class Values, int rows>
HWY_INLINE void group_sums(const PanelCall& call, const std::int8_t* from, std::int64_t first,
                           std::int64_t last, V (&sums)[rows][vectors]) {
    constexpr int parts = HWY_MAX(8 / (rows * vectors), 1);
    constexpr int loads = HWY_MAX(parts / Values::columns, 1);
    const F f;
    V part[parts][rows][vectors];
    for (auto& one : part)
        for (auto& row : one)
            for (V& value : row) value = hn::Zero(f);
    std::int64_t k = first;
    const auto add = [&](int load) HWY_ATTR {
        for (int v = 0; v < vectors; ++v) {
            Values::each(from, v, [&](int column, V w) HWY_ATTR {
                for (int r = 0; r < rows; ++r) {
                    V& one = part[(load * Values::columns + column) % parts][r][v];
                    one = hn::MulAdd(w, hn::Set(f, call.x[r * call.columns + k + column]), one);
                }
            });
        }
        from += Values::bytes;
        k += Values::columns;
    };
    while (k + loads * Values::columns <= last) {
        for (int byte = 0; byte < loads * Values::bytes; byte += line_bytes)
            hwy::Prefetch(from + fetched_ahead + byte);
        for (int load = 0; load < loads; ++load) add(load);
    }
    while (k < last) add(0);
    for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < vectors; ++v) {
            sums[r][v] = part[0][r][v];
            for (int p = 1; p < parts; ++p) sums[r][v] = hn::Add(sums[r][v], part[p][r][v]);
        }
    }
}

template <class Values, int rows>
void panel_rows(const PanelCall& call) {
    const F f;
    V total[rows][vectors];
    for (auto& row : total)
        for (V& one : row) one = hn::Zero(f);
    for (std::int64_t g = 0; g < call.groups; ++g) {
        const std::int64_t first = g * call.group, last = std::min(first + call.group, call.columns);
        V sums[rows][vectors];
        group_sums<Values, rows>(call, call.panel + first / Values::columns * Values::bytes, first, last,
                                 sums);
        for (int v = 0; v < vectors; ++v) {
            const std::int64_t at = g * outputs + v * lanes;
            const V scale = hn::LoadU(f, call.scales + at);
            for (int r = 0; r < rows; ++r) {
                total[r][v] = hn::MulAdd(sums[r][v], scale, total[r][v]);
                if (call.offsets != nullptr)
                    total[r][v] = hn::NegMulAdd(hn::LoadU(f, call.offsets + at),
                                                hn::Set(f, call.x_sums[r * call.groups + g]), total[r][v]);
            }
        }
    }
    for (int r = 0; r < rows; ++r)
        for (int v = 0; v < vectors; ++v) hn::StoreU(total[r][v], f, call.y + r * outputs + v * lanes);
}

template <class Values>
void panel(const PanelCall& call) {
    using Rows = void (*)(const PanelCall&);
    constexpr Rows by_rows[most_float_rows] = {panel_rows<Values, 1>, panel_rows<Values, 2>,
                                               panel_rows<Values, 3>, panel_rows<Values, 4>};
    by_rows[call.rows - 1](call);
}

template <class Values>
void decode(const std::int8_t* from, std::int64_t n, const float* scales, const float* offsets, float* to,
            std::int64_t stride) {
    const F f;
    for (int v = 0; v < vectors; ++v) {
        const V scale = hn::LoadU(f, scales + v * lanes);
        const V offset = offsets == nullptr ? hn::Zero(f) : hn::LoadU(f, offsets + v * lanes);
        for (std::int64_t k = 0; k < n; k += Values::columns) {
            Values::each(from + k / Values::columns * Values::bytes, v, [&](int column, V w) HWY_ATTR {
                hn::StoreU(hn::MulSub(w, scale, offset), f, to + (k + column) * stride + v * lanes);
            });
        }
    }
}

void add_scaled(const GroupSums& c) {
    const F f;
    const I i;
    for (int o = 0; o < outputs; o += lanes) {
        const auto more = hn::Mul(hn::LoadU(i, c.weight_sums + o), hn::Set(i, c.added));
        const V scale = hn::LoadU(f, c.scales + o);
        for (std::int64_t r = 0; r < c.rows; ++r) {
            const auto whole = hn::Sub(hn::LoadU(i, c.sums + r * outputs + o), more);
            float* const y = c.y + r * c.stride + o;
            const V factor = hn::Mul(scale, hn::Set(f, c.factors[r]));
            hn::StoreU(hn::MulAdd(hn::ConvertTo(f, whole), factor, hn::LoadU(f, y)), f, y);
        }
    }
}

}  // namespace

RowKernels kernels() {
    return {largest,       to_int16,      to_uint8,       panel<Bytes>,
            panel<Halves>, decode<Bytes>, decode<Halves>, add_scaled};
}

inline PanelFunctions panels() { return switchyard::HWY_NAMESPACE::panel_functions(); }
inline RowFunctions rows() { return switchyard::HWY_NAMESPACE::row_functions(); }

}  // namespace switchyard::int8::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <switchyard/sdk/cpu/tile_product.h>

namespace switchyard::int8 {

HWY_EXPORT(kernels);
HWY_EXPORT(panels);
HWY_EXPORT(rows);

const RowKernels& row_kernels() {
    static const RowKernels chosen = HWY_DYNAMIC_DISPATCH(kernels)();
    return chosen;
}

const tiles::Functions& tile_functions() {
    static const tiles::Functions chosen{HWY_DYNAMIC_DISPATCH(panels)(), HWY_DYNAMIC_DISPATCH(rows)()};
    return chosen;
}

}  // namespace switchyard::int8
#endif

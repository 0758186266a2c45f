#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loss/projection_kernels.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <limits>

#include <switchyard/sdk/cpu/panels-inl.h>

#include "common/vectors-inl.h"
#include "projection_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

// Columns of a tile, as many at a time as there are registers for: what is summed up down them does not wait
// for itself.
constexpr int at_once = 4;
constexpr float infinity = std::numeric_limits<float>::infinity();

template <int count>
HWY_INLINE void logits_at(F f, const LogitsTile& tile, std::int64_t c, std::int64_t column, V* x) {
    const std::int64_t step = lanes();
    const float* const from = tile.products + c * tile_columns + column;
    for (int i = 0; i < count; ++i) x[i] = hn::LoadU(f, from + i * step);
    if (tile.bias == nullptr) return;
    const V bias = hn::Set(f, tile.bias[c]);
    for (int i = 0; i < count; ++i) x[i] = hn::Add(x[i], bias);
}

// Each tile has its own maximum, joined to the one before (Milakov & Gimelshein 2018, arXiv:1805.02867).
template <int count>
HWY_INLINE void summarize_columns(F f, const LogitsTile& tile, std::int64_t column, const ColumnSums& sums) {
    const std::int64_t step = lanes();
    V x[count], top[count], total[count], sum[count];
    for (int i = 0; i < count; ++i) {
        top[i] = hn::LoadU(f, sums.top + column + i * step);
        total[i] = sum[i] = hn::Zero(f);
    }
    for (std::int64_t c = 0; c < tile.classes; ++c) {
        logits_at<count>(f, tile, c, column, x);
        for (int i = 0; i < count; ++i) {
            top[i] = hn::Max(top[i], x[i]);
            sum[i] = hn::Add(sum[i], x[i]);
        }
    }
    // Where all are -infinity nothing is to be taken from them.
    V base[count];
    for (int i = 0; i < count; ++i)
        base[i] = hn::IfThenElseZero(hn::Gt(top[i], hn::Set(f, -infinity)), top[i]);
    for (std::int64_t c = 0; c < tile.classes; ++c) {
        logits_at<count>(f, tile, c, column, x);
        for (int i = 0; i < count; ++i) total[i] = hn::Add(total[i], exp(f, hn::Sub(x[i], base[i])));
    }
    for (int i = 0; i < count; ++i) {
        const std::int64_t at = column + i * step;
        const V before = hn::Sub(hn::LoadU(f, sums.top + at), base[i]);
        const V kept = hn::Mul(hn::LoadU(f, sums.total + at), exp(f, before));
        hn::StoreU(top[i], f, sums.top + at);
        hn::StoreU(hn::Add(kept, total[i]), f, sums.total + at);
        hn::StoreU(hn::Add(hn::LoadU(f, sums.sum + at), sum[i]), f, sums.sum + at);
    }
}

void summarize(const LogitsTile& tile, const ColumnSums& sums) {
    const F f;
    const std::int64_t step = lanes();
    std::int64_t column = 0;
    for (; column + at_once * step <= tile.rows; column += at_once * step)
        summarize_columns<at_once>(f, tile, column, sums);
    for (; column < tile.rows; column += step) summarize_columns<1>(f, tile, column, sums);
}

template <class T>
void gradients(const LogitsTile& tile, const ColumnFactors& rows, T* out, std::int64_t ldo) {
    const F f;
    for (std::int64_t c = 0; c < tile.classes; ++c) {
        for (std::int64_t j = 0; j < tile.rows; j += lanes()) {
            V x;
            logits_at<1>(f, tile, c, j, &x);
            const V e = exp(f, hn::Sub(x, hn::LoadU(f, rows.log_sum_exp + j)));
            const V factor = hn::LoadU(f, rows.factor + j);
            const V gradient = hn::MulSub(e, factor, hn::LoadU(f, rows.constant + j));
            store(f, hn::IfThenZeroElse(hn::Eq(factor, hn::Zero(f)), gradient), out + c * ldo + j);
        }
    }
}

template <class T>
float sum(const T* x, std::int64_t n) {
    const F f;
    Sums sums;
    over_row(n, [&](std::int64_t j, auto part, int turn)
                    HWY_ATTR { sums.parts[turn] = hn::Add(sums.parts[turn], load(f, x + j, part)); });
    return sums.total();
}

}  // namespace

const ProjectionKernels& projections() {
    static const ProjectionKernels all{summarize,
                                       gradients<float>,
                                       gradients<c10::BFloat16>,
                                       sum<float>,
                                       sum<c10::BFloat16>,
                                       switchyard::HWY_NAMESPACE::panel_functions(),
                                       switchyard::HWY_NAMESPACE::row_functions()};
    return all;
}

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(projections);

const ProjectionKernels& projection_kernels() {
    static const ProjectionKernels& chosen = HWY_DYNAMIC_DISPATCH(projections)();
    return chosen;
}

}  // namespace switchyard::fused
#endif

#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "loss/loss_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <cmath>
#include <limits>

#include "common/vectors-inl.h"
#include "loss_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

// As `only`, but what lies past the end is what no maximum takes.
HWY_INLINE V or_lowest(F /*f*/, V v, Whole /*part*/) { return v; }
HWY_INLINE V or_lowest(F f, V v, Some part) {
    return hn::IfThenElse(hn::FirstN(f, static_cast<std::size_t>(part.count)), v, hn::Set(f, -infinity));
}

template <class T>
float largest(const T* logits, std::int64_t n) {
    const F f;
    V tops[4];
    tops[0] = tops[1] = tops[2] = tops[3] = hn::Set(f, -infinity);
    over_row(n, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
        tops[turn] = hn::Max(tops[turn], or_lowest(f, load(f, logits + j, part), part));
    });
    return hn::GetLane(hn::MaxOfLanes(f, hn::Max(hn::Max(tops[0], tops[1]), hn::Max(tops[2], tops[3]))));
}

// One sweep over memory: pieces that fit the first cache, each with its own maximum, joined as they come
// (Milakov & Gimelshein 2018, Online normalizer calculation for softmax, arXiv:1805.02867). While
// exponentials are taken, the next piece is fetched.
template <class T, class Keep>
HWY_INLINE void over_pieces(const T* logits, std::int64_t classes, RowSummary& row, const Keep& keep) {
    const F f;
    for (std::int64_t begin = 0; begin < classes; begin += piece_classes) {
        const T* const from = logits + begin;
        const std::int64_t n = std::min(piece_classes, classes - begin);
        const float top = largest(from, n);
        const V minus = hn::Set(f, top == -infinity ? 0.0F : top);
        Sums<> exponentials, values;
        over_row(n, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
            hwy::Prefetch(from + n + j);
            const V v = load(f, from + j, part);
            const V e = only(f, exp(f, hn::Sub(v, minus)), part);
            exponentials.parts[turn] = hn::Add(exponentials.parts[turn], e);
            values.parts[turn] = hn::Add(values.parts[turn], v);
            keep(begin + j, e, part);
        });
        keep(begin, top);
        row.sum += values.total();
        if (top == -infinity) continue;  // adds nothing
        const double total = exponentials.total();
        if (top > row.top) {
            row.total = row.total * std::exp(row.top - top) + total;
            row.top = top;
        } else {
            row.total += total * std::exp(top - row.top);
        }
    }
}

struct KeepNothing {
    template <class Part>
    HWY_INLINE void operator()(std::int64_t, V, Part) const {}
    HWY_INLINE void operator()(std::int64_t, float) const {}
};

template <class T>
void summarize(const T* logits, std::int64_t classes, RowSummary& row) {
    over_pieces(logits, classes, row, KeepNothing());
}

struct KeepAll {
    float *exponentials, *tops;
    template <class Part>
    HWY_INLINE void operator()(std::int64_t at, V e, Part part) const {
        store(F(), e, exponentials + at, part);
    }
    HWY_INLINE void operator()(std::int64_t begin, float top) const { tops[begin / piece_classes] = top; }
};

template <class T>
void exponentials(const T* logits, std::int64_t classes, RowSummary& row, float* exponentials, float* tops) {
    over_pieces(logits, classes, row, KeepAll{exponentials, tops});
}

// write(first, part) for all of a row; if it is written around the caches, from where whole lines begin on.
template <class T, class Write>
HWY_INLINE void over_lines(std::int64_t n, const T* out, bool streams, const Write& write) {
    std::int64_t begin = 0;
    if (streams) {
        constexpr std::uintptr_t line = 64;
        const auto past = reinterpret_cast<std::uintptr_t>(out) % line;
        const auto values = static_cast<std::int64_t>(past == 0 ? 0 : (line - past) / sizeof(T));
        for (const std::int64_t end = std::min(values, n); begin < end;) {
            const Some part{std::min(lanes(), end - begin)};
            write(begin, part);
            begin += part.count;
        }
    }
    over_values(n - begin, [&](std::int64_t j, auto part) HWY_ATTR { write(begin + j, part); });
}

template <class T>
void scaled(const float* exponentials, std::int64_t n, const float* factors, float constant, T* out,
            bool streams) {
    const F f;
    const V less = hn::Set(f, constant);
    for (std::int64_t begin = 0; begin < n; begin += piece_classes) {
        const V times = hn::Set(f, factors[begin / piece_classes]);
        const float* const from = exponentials + begin;
        T* const to = out + begin;
        over_lines(std::min(piece_classes, n - begin), to, streams, [&](std::int64_t j, auto part) HWY_ATTR {
            store(f, hn::MulSub(load(f, from + j, part), times, less), to + j, part, streams);
        });
    }
    if (streams) hwy::FlushStream();
}

template <class T>
void gradient(const T* logits, std::int64_t classes, float log_sum_exp, float factor, float constant, T* out,
              bool streams) {
    const F f;
    const V minus = hn::Set(f, log_sum_exp), times = hn::Set(f, factor), less = hn::Set(f, constant);
    const auto at = [&](std::int64_t j, auto part) HWY_ATTR {
        const V e = exp(f, hn::Sub(load(f, logits + j, part), minus));
        return hn::MulSub(e, times, less);
    };
    over_lines(classes, out, streams,
               [&](std::int64_t j, auto part) HWY_ATTR { store(f, at(j, part), out + j, part, streams); });
    if (streams) hwy::FlushStream();
}

template <class T>
const LossKernels<T>& kernels() {
    static constexpr LossKernels<T> all{summarize<T>, exponentials<T>, scaled<T>, gradient<T>};
    return all;
}

}  // namespace

const LossKernels<float>& float_losses() { return kernels<float>(); }
const LossKernels<c10::BFloat16>& bfloat16_losses() { return kernels<c10::BFloat16>(); }
const LossKernels<c10::Half>& half_losses() { return kernels<c10::Half>(); }

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(float_losses);
HWY_EXPORT(bfloat16_losses);
HWY_EXPORT(half_losses);

template <>
const LossKernels<float>& loss_kernels() {
    return HWY_DYNAMIC_DISPATCH(float_losses)();
}
template <>
const LossKernels<c10::BFloat16>& loss_kernels() {
    return HWY_DYNAMIC_DISPATCH(bfloat16_losses)();
}
template <>
const LossKernels<c10::Half>& loss_kernels() {
    return HWY_DYNAMIC_DISPATCH(half_losses)();
}

}  // namespace switchyard::fused
#endif

#include "common/targets.h"  // before Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "optimizer/optimizer_rows.cpp"
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <switchyard/sdk/cpu/float_rows-inl.h>

#include "optimizer_rows.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using F = hn::ScalableTag<float>;
using V = hn::Vec<F>;

using switchyard::HWY_NAMESPACE::walk;

V all(float number) { return hn::Set(F(), number); }

// m^ / (sqrt(v^) + eps), after taking g in.
struct AdamDirection {
    explicit AdamDirection(const StepNumbers& n)
        : beta1(all(n.beta1)),
          rest1(all(n.rest1)),
          beta2(all(n.beta2)),
          rest2(all(n.rest2)),
          unbias1(all(n.unbias1)),
          unbias2(all(n.unbias2)),
          eps(all(n.eps)) {}
    void take(V g, V& m, V& v) const {
        m = hn::MulAdd(m, beta1, hn::Mul(g, rest1));
        v = hn::MulAdd(v, beta2, hn::Mul(hn::Mul(g, g), rest2));
    }
    V direction(V m, V v) const {
        return hn::Div(hn::Mul(m, unbias1), hn::MulAdd(hn::Sqrt(v), unbias2, eps));
    }
    V beta1, rest1, beta2, rest2, unbias1, unbias2, eps;
};

void adamw(const Rows& rows, const StepNumbers& n) {
    const AdamDirection adam(n);
    const V factor = all(n.gradient_factor), keep = all(n.keep), lr = all(n.lr);
    walk<3>({rows.w, rows.first, rows.second, rows.g}, rows.n, [&](V(&x)[4], std::int64_t) {
        adam.take(hn::Mul(x[3], factor), x[1], x[2]);
        x[0] = hn::NegMulAdd(lr, adam.direction(x[1], x[2]), hn::Mul(x[0], keep));
    });
}

void adam(const Rows& rows, const StepNumbers& n) {
    const AdamDirection adam(n);
    const V factor = all(n.gradient_factor), decay = all(n.weight_decay), lr = all(n.lr);
    walk<3>({rows.w, rows.first, rows.second, rows.g}, rows.n, [&](V(&x)[4], std::int64_t) {
        adam.take(hn::MulAdd(x[0], decay, hn::Mul(x[3], factor)), x[1], x[2]);
        x[0] = hn::NegMulAdd(lr, adam.direction(x[1], x[2]), x[0]);
    });
}

void sgd(const Rows& rows, const StepNumbers& n) {
    const V factor = all(n.gradient_factor), decay = all(n.weight_decay), lr = all(n.lr);
    const V momentum = all(n.momentum);
    const auto gradient = [&](V w, V g) { return hn::MulAdd(w, decay, hn::Mul(g, factor)); };
    if (rows.first == nullptr) {
        return walk<1>({rows.w, rows.g}, rows.n,
                       [&](V(&x)[2], std::int64_t) { x[0] = hn::NegMulAdd(lr, gradient(x[0], x[1]), x[0]); });
    }
    walk<2>({rows.w, rows.first, rows.g}, rows.n, [&](V(&x)[3], std::int64_t) {
        const V g = gradient(x[0], x[2]);
        x[1] = hn::MulAdd(x[1], momentum, g);
        x[0] = hn::NegMulAdd(lr, n.nesterov ? hn::MulAdd(x[1], momentum, g) : x[1], x[0]);
    });
}

void lion(const Rows& rows, const StepNumbers& n) {
    const V factor = all(n.gradient_factor), keep = all(n.keep), lr = all(n.lr);
    const V beta1 = all(n.beta1), rest1 = all(n.rest1), beta2 = all(n.beta2), rest2 = all(n.rest2);
    walk<2>({rows.w, rows.first, rows.g}, rows.n, [&](V(&x)[3], std::int64_t) {
        const V g = hn::Mul(x[2], factor);
        const V c = hn::MulAdd(x[1], beta1, hn::Mul(g, rest1));
        x[1] = hn::MulAdd(x[1], beta2, hn::Mul(g, rest2));
        const V step = hn::IfThenZeroElse(hn::Eq(c, all(0.0F)), hn::CopySign(lr, c));
        x[0] = hn::Sub(hn::Mul(x[0], keep), step);
    });
}

double sum_of(V x) { return hn::GetLane(hn::SumOfLanes(F(), x)); }

LambSums lamb_moments(const Rows& rows, const StepNumbers& n) {
    const AdamDirection adam(n);
    const V factor = all(n.gradient_factor), decay = all(n.weight_decay);
    V of_w = all(0.0F), of_direction = all(0.0F);
    walk<2>({rows.first, rows.second, rows.w, rows.g}, rows.n, [&](V(&x)[4], std::int64_t lanes) {
        adam.take(hn::Mul(x[3], factor), x[0], x[1]);
        const V r = hn::MulAdd(x[2], decay, adam.direction(x[0], x[1]));
        const auto own = hn::FirstN(F(), static_cast<std::size_t>(lanes));
        of_w = hn::MulAdd(x[2], x[2], of_w);
        of_direction = hn::Add(of_direction, hn::IfThenElseZero(own, hn::Mul(r, r)));
    });
    return {sum_of(of_w), sum_of(of_direction)};
}

void lamb_step(const Rows& rows, const StepNumbers& n, float trust) {
    const AdamDirection adam(n);
    const V decay = all(n.weight_decay), rate = all(n.lr * trust);
    walk<1>({rows.w, rows.first, rows.second}, rows.n, [&](V(&x)[3], std::int64_t) {
        x[0] = hn::NegMulAdd(rate, hn::MulAdd(x[0], decay, adam.direction(x[1], x[2])), x[0]);
    });
}

double muon_direction(const Rows& rows, const StepNumbers& n) {
    const V factor = all(n.gradient_factor), momentum = all(n.momentum), rest = all(n.rest_momentum);
    V squares = all(0.0F);
    walk<2>({rows.w, rows.first, rows.g}, rows.n, [&](V(&x)[3], std::int64_t) {
        const V g = hn::Mul(hn::Mul(x[2], factor), rest);
        x[1] = hn::MulAdd(x[1], momentum, g);
        x[0] = n.nesterov ? hn::MulAdd(x[1], momentum, g) : x[1];
        squares = hn::MulAdd(x[0], x[0], squares);
    });
    return sum_of(squares);
}

void muon_step(const Rows& rows, const StepNumbers& n, float trust) {
    const V keep = all(n.keep), rate = all(n.lr * trust);
    walk<1>({rows.w, rows.g}, rows.n,
            [&](V(&x)[2], std::int64_t) { x[0] = hn::NegMulAdd(rate, x[1], hn::Mul(x[0], keep)); });
}

}  // namespace

const OptimizerRows& rows() {
    static const OptimizerRows all_of_them{
        adamw,          adam,         sgd,
        lion,           lamb_moments, lamb_step,
        muon_direction, muon_step,    switchyard::HWY_NAMESPACE::row_functions()};
    return all_of_them;
}

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(rows);

const OptimizerRows& optimizer_rows() {
    static const OptimizerRows& chosen = HWY_DYNAMIC_DISPATCH(rows)();
    return chosen;
}

}  // namespace switchyard::fused
#endif

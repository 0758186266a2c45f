#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "activation/activation_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <vector>

#include "activation_kernels.h"
#include "common/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

// Where y is act(x): value and slope, alone or together.
struct Point {
    V value, slope;
};

// Coefficients from the highest power, which is even, down. Even and odd powers apart: in one chain, each
// step waits for the one before, and the processor cannot look far enough ahead to fill the time with other
// vectors.
template <std::size_t count>
HWY_INLINE V polynomial(F f, V s, const float (&coefficients)[count]) {
    static_assert(count % 2 == 1);
    const V square = hn::Mul(s, s);
    V even = hn::Set(f, coefficients[0]), odd = hn::Set(f, coefficients[1]);
    for (std::size_t i = 2; i < count; i += 2) {
        even = hn::MulAdd(even, square, hn::Set(f, coefficients[i]));
        if (i + 1 < count) odd = hn::MulAdd(odd, square, hn::Set(f, coefficients[i + 1]));
    }
    return hn::MulAdd(odd, s, even);
}

// x Phi(x), slope Phi(x) + x phi(x). Both less 1/2 are odd, so x times a function of x^2, which is smooth
// enough for one polynomial up to |x| = 5.5: no exponential, no division. Fitted by Remez exchange in s = x^2
// / 15.125 - 1, in [-1, 1], to the error times |x|: 4.0e-8 at most for both, below half a unit in the last
// place of the sum with 1/2. All coefficients of one sign pattern, their magnitudes add up to 0.4 (0.8), so
// rounding stays at some 1e-7.
// Past 5.5, where Phi is within 2e-8 of its limit, the limit is taken. (Cody 1969, Rational Chebyshev
// approximations for the error function, Math. Comp. 23, for the split into ranges and the odd form near
// zero.)
struct GeluErf {
    static constexpr float edge_square = 30.25F;

    HWY_INLINE static V scaled_square(F f, V square) {
        const V s = hn::Min(hn::Set(f, edge_square), square);
        return hn::MulSub(s, hn::Set(f, 2.0F / edge_square), hn::Set(f, 1.0F));
    }
    HWY_INLINE static V value(F f, V x) {
        static constexpr float c[] = {0.0005380731998069574F, -0.0013688230289981575F, 0.0010238568801681522F,
                                      -0.00122941835735911F,  0.004236366410231293F,   -0.00767465245000786F,
                                      0.01046862750945514F,   -0.014671374497641082F,  0.020287980092142933F,
                                      -0.026112466620052965F, 0.03208174131814636F,    -0.038787267029560285F,
                                      0.04773698973307239F,   -0.0641724750533199F,    0.12855193658100536F};
        const V r = polynomial(f, scaled_square(f, hn::Mul(x, x)), c);
        const V phi = hn::MulAdd(x, r, hn::Set(f, 0.5F));  // beyond the edge past 0 or 1
        return hn::Mul(x, hn::Min(hn::Set(f, 1.0F), hn::Max(hn::Zero(f), phi)));
    }
    HWY_INLINE static V slope(F f, V x) {
        static constexpr float c[] = {0.002223190155690279F,  -0.005782462277457438F, 0.003665131268454589F,
                                      -0.003371599353360597F, 0.01712916199327326F,   -0.032075196839765514F,
                                      0.039144013923626736F,  -0.050089245973147914F, 0.06525996206033907F,
                                      -0.07404285756876261F,  0.07423513675843972F,   -0.06864279306907035F,
                                      0.06031576623534236F,   -0.05374367775917375F,  0.053665178838995284F,
                                      -0.06573971528828254F,  0.12875920932706947F};
        const V square = hn::Mul(x, x);
        const V r = polynomial(f, scaled_square(f, square), c);
        const V limit = hn::IfThenElseZero(hn::Gt(x, hn::Zero(f)), hn::Set(f, 1.0F));
        return hn::IfThenElse(hn::Gt(square, hn::Set(f, edge_square)), limit,
                              hn::MulAdd(x, r, hn::Set(f, 0.5F)));
    }
    HWY_INLINE static Point at(F f, V x) { return {value(f, x), slope(f, x)}; }
};

struct Sigmoid {
    V e, s;  // e^-v, 1 / (1 + e^-v)
};
// Past it e^-v is no number of float32. There s is its limit, 0 or 1, and so is the slope of x s.
constexpr float sigmoid_edge = 87.0F;

HWY_INLINE Sigmoid sigmoid(F f, V v) {
    const V one = hn::Set(f, 1.0F);
    const V e = exp(f, hn::Min(hn::Set(f, sigmoid_edge), hn::Neg(v)));
    const auto below = hn::Lt(v, hn::Set(f, -sigmoid_edge));
    return {e, hn::IfThenZeroElse(below, hn::Div(one, hn::Add(one, e)))};
}
HWY_INLINE V within_edge(F f, V v, V slope, V limit) {
    return hn::IfThenElse(hn::Gt(hn::Abs(v), hn::Set(f, sigmoid_edge)), limit, slope);
}

// x (1 + tanh(u)) / 2 is x sigmoid(2 u), with u = sqrt(2 / pi) (x + 0.044715 x^3).
struct GeluTanh {
    HWY_INLINE static Point at(F f, V x) {
        const V square = hn::Mul(x, x);
        const V v =
            hn::Mul(x, hn::MulAdd(square, hn::Set(f, 1.5957691216F * 0.044715F), hn::Set(f, 1.5957691216F)));
        const Sigmoid at = sigmoid(f, v);
        const V v_slope =
            hn::MulAdd(square, hn::Set(f, 1.5957691216F * 0.134145F), hn::Set(f, 1.5957691216F));
        const V s_slope = hn::Mul(hn::Mul(at.e, at.s), at.s);
        const V slope = hn::MulAdd(hn::Mul(x, s_slope), v_slope, at.s);
        return {hn::Mul(x, at.s), within_edge(f, v, slope, at.s)};
    }
    HWY_INLINE static V value(F f, V x) { return at(f, x).value; }
    HWY_INLINE static V slope(F f, V x) { return at(f, x).slope; }
};

struct Silu {
    HWY_INLINE static Point at(F f, V x) {
        const Sigmoid at = sigmoid(f, x);
        const V slope = hn::MulAdd(x, hn::Mul(hn::Mul(at.e, at.s), at.s), at.s);
        return {hn::Mul(x, at.s), within_edge(f, x, slope, at.s)};
    }
    HWY_INLINE static V value(F f, V x) { return at(f, x).value; }
    HWY_INLINE static V slope(F f, V x) { return at(f, x).slope; }
};

// NaN stays NaN.
struct Relu {
    HWY_INLINE static Point at(F f, V x) {
        const auto below = hn::Le(x, hn::Zero(f));
        return {hn::IfThenZeroElse(below, x), hn::IfThenZeroElse(below, hn::Set(f, 1.0F))};
    }
    HWY_INLINE static V value(F f, V x) { return at(f, x).value; }
    HWY_INLINE static V slope(F f, V x) { return at(f, x).slope; }
};

struct Identity {
    HWY_INLINE static V value(F /*f*/, V x) { return x; }
};

// A row's columns from `first` on, with the bias.
template <class T>
struct BiasedRow {
    const T* x;
    const float* bias;

    BiasedRow(const T* row, const float* biases, std::int64_t first)
        : x(row + first), bias(biases == nullptr ? nullptr : biases + first) {}
    template <class Part>
    HWY_INLINE V at(F f, std::int64_t j, Part part) const {
        const V v = load(f, x + j, part);
        return bias == nullptr ? v : hn::Add(v, load(f, bias + j, part));
    }
};

template <class Call>
std::int64_t columns_of(const Call& c) {
    return c.gated ? 2 * c.width : c.width;
}

// What goes through the curve, and the gate where there is one.
template <class T>
struct InputRow {
    BiasedRow<T> first, gate;

    template <class Call>
    InputRow(const Call& c, std::int64_t row)
        : first(c.x + row * columns_of(c), c.bias, 0),
          gate(c.x + row * columns_of(c), c.bias, c.gated ? c.width : 0) {}
};

// body(row, its numbers for dropout or nullptr)
template <class Call, class Body>
HWY_INLINE void each_row(const Call& c, std::int64_t begin, std::int64_t end, const Body& body) {
    std::vector<std::uint16_t> numbers;
    if (c.dropout.active()) numbers.resize(static_cast<std::size_t>(numbers_of(c.width)));
    for (std::int64_t row = begin; row < end; ++row) {
        if (c.dropout.active())
            draw_numbers(numbers.data(), (c.width + 63) / 64, c.dropout.seed, c.dropout.positions[row]);
        body(row, c.dropout.active() ? numbers.data() : nullptr);
    }
    hwy::FlushStream();
}

template <class Curve, class T>
void forward_rows(const ActivationForward<T>& c, std::int64_t begin, std::int64_t end) {
    const F f;
    each_row(c, begin, end, [&](std::int64_t row, const std::uint16_t* drawn) HWY_ATTR {
        const InputRow<T> in(c, row);
        T* const y = c.y + row * c.width;
        over_values(c.width, [&](std::int64_t j, auto part) HWY_ATTR {
            V v = Curve::value(f, in.first.at(f, j, part));
            if (c.gated) v = hn::Mul(v, in.gate.at(f, j, part));
            if (drawn != nullptr) v = drop(f, v, drawn + j, c.dropout.threshold, c.dropout.keep_scale);
            store(f, v, y + j, part, c.streams);
        });
    });
}

template <class T, class Part>
HWY_INLINE void put(F f, V gradient, const ActivationBackward<T>& c, std::int64_t row_start,
                    std::int64_t column, Part part) {
    if (c.grad_x != nullptr) store(f, gradient, c.grad_x + row_start + column, part, c.streams);
    if (c.grad_bias != nullptr) {
        float* const sums = c.grad_bias + column;
        store(f, hn::Add(gradient, load(f, sums, part)), sums, part);
    }
}

template <class Curve, class T>
void backward_rows(const ActivationBackward<T>& c, std::int64_t begin, std::int64_t end) {
    const F f;
    const std::int64_t columns = columns_of(c);
    each_row(c, begin, end, [&](std::int64_t row, const std::uint16_t* drawn) HWY_ATTR {
        const InputRow<T> in(c, row);
        const T* const grad_y = c.grad_y + row * c.width;
        over_values(c.width, [&](std::int64_t j, auto part) HWY_ATTR {
            fetch_ahead(grad_y + j);
            fetch_ahead(in.first.x + j);
            V d = load(f, grad_y + j, part);
            if (drawn != nullptr) d = drop(f, d, drawn + j, c.dropout.threshold, c.dropout.keep_scale);
            const V x = in.first.at(f, j, part);
            if (c.gated) {
                const Point at = Curve::at(f, x);
                put(f, hn::Mul(d, at.value), c, row * columns, c.width + j, part);
                d = hn::Mul(hn::Mul(d, in.gate.at(f, j, part)), at.slope);
            } else {
                d = hn::Mul(d, Curve::slope(f, x));
            }
            put(f, d, c, row * columns, j, part);
        });
    });
}

// What was positive has been kept, so y says all.
template <class T>
void backward_relu(const ActivationBackward<T>& c, std::int64_t begin, std::int64_t end) {
    const F f;
    const V scale = hn::Set(f, c.dropout.keep_scale);
    each_row(c, begin, end, [&](std::int64_t row, const std::uint16_t*) HWY_ATTR {
        const std::int64_t at = row * c.width;
        over_values(c.width, [&](std::int64_t j, auto part) HWY_ATTR {
            const V d = hn::Mul(load(f, c.grad_y + at + j, part), scale);
            const auto off = hn::Le(load(f, c.y + at + j, part), hn::Zero(f));
            put(f, hn::IfThenZeroElse(off, d), c, at, j, part);
        });
    });
}

// Neither x nor y is read.
template <class T>
void backward_identity(const ActivationBackward<T>& c, std::int64_t begin, std::int64_t end) {
    const F f;
    each_row(c, begin, end, [&](std::int64_t row, const std::uint16_t* drawn) HWY_ATTR {
        const std::int64_t at = row * c.width;
        over_values(c.width, [&](std::int64_t j, auto part) HWY_ATTR {
            V d = load(f, c.grad_y + at + j, part);
            if (drawn != nullptr) d = drop(f, d, drawn + j, c.dropout.threshold, c.dropout.keep_scale);
            put(f, d, c, at, j, part);
        });
    });
}

template <class T>
void forward(const ActivationForward<T>& c, std::int64_t begin, std::int64_t end) {
    switch (c.curve) {
        case Curve::gelu_erf:
            return forward_rows<GeluErf>(c, begin, end);
        case Curve::gelu_tanh:
            return forward_rows<GeluTanh>(c, begin, end);
        case Curve::relu:
            return forward_rows<Relu>(c, begin, end);
        case Curve::silu:
            return forward_rows<Silu>(c, begin, end);
        case Curve::identity:
            return forward_rows<Identity>(c, begin, end);
    }
}

template <class T>
void backward(const ActivationBackward<T>& c, std::int64_t begin, std::int64_t end) {
    switch (c.curve) {
        case Curve::gelu_erf:
            return backward_rows<GeluErf>(c, begin, end);
        case Curve::gelu_tanh:
            return backward_rows<GeluTanh>(c, begin, end);
        case Curve::relu:
            return c.gated ? backward_rows<Relu>(c, begin, end) : backward_relu(c, begin, end);
        case Curve::silu:
            return backward_rows<Silu>(c, begin, end);
        case Curve::identity:
            return backward_identity(c, begin, end);
    }
}

template <class T>
const ActivationKernels<T>& kernels() {
    static constexpr ActivationKernels<T> all{forward<T>, backward<T>};
    return all;
}

}  // namespace

const ActivationKernels<float>& float_activations() { return kernels<float>(); }
const ActivationKernels<c10::BFloat16>& bfloat16_activations() { return kernels<c10::BFloat16>(); }
const ActivationKernels<c10::Half>& half_activations() { return kernels<c10::Half>(); }

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(float_activations);
HWY_EXPORT(bfloat16_activations);
HWY_EXPORT(half_activations);

template <>
const ActivationKernels<float>& activation_kernels() {
    return HWY_DYNAMIC_DISPATCH(float_activations)();
}
template <>
const ActivationKernels<c10::BFloat16>& activation_kernels() {
    return HWY_DYNAMIC_DISPATCH(bfloat16_activations)();
}
template <>
const ActivationKernels<c10::Half>& activation_kernels() {
    return HWY_DYNAMIC_DISPATCH(half_activations)();
}

}  // namespace switchyard::fused
#endif

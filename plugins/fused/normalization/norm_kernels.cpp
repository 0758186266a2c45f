#include "common/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "normalization/norm_kernels.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>  // compiles this file once for each target
#include <hwy/highway.h>

#include <cmath>
#include <vector>

#include "common/vectors-inl.h"
#include "norm_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace switchyard::fused::HWY_NAMESPACE {
namespace {

// Builds the row's sum as it is stored, or finds it: without bias, dropout and residual it is x.
template <class T>
const T* row_sum(const NormForward<T>& c, std::int64_t row, std::uint16_t* numbers, T* kept) {
    const F f;
    const std::int64_t width = c.shape.width;
    const T* const x = c.x + row * width;
    if (c.sum == nullptr) return x;
    T* const sum = c.streams ? kept : c.sum + row * width;
    const T* const residual = c.residual == nullptr ? nullptr : c.residual + row * width;
    const bool drops = c.dropout.active();
    if (drops) draw_numbers(numbers, (width + 63) / 64, c.dropout.seed, c.dropout.positions[row]);
    over_row(width, [&](std::int64_t j, auto part, int) HWY_ATTR {
        V v = load(f, x + j, part);
        if (c.bias != nullptr) v = hn::Add(v, load(f, c.bias + j, part));
        if (drops) v = drop(f, v, numbers + j, c.dropout.threshold, c.dropout.keep_scale);
        if (residual != nullptr) v = hn::Add(v, load(f, residual + j, part));
        store(f, v, sum + j, part);
    });
    return sum;
}

// Two passes over a row that lies in the cache: one pass would lose digits where the mean is large (Chan,
// Golub & LeVeque 1983, Algorithms for computing the sample variance, American Statistician 37).
template <class T>
RowStatistics statistics_of(const T* s, const NormShape& shape) {
    const F f;
    const auto count = static_cast<float>(shape.width);
    RowStatistics found;
    if (shape.centered) {
        Sums<> sums;
        over_row(shape.width, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
            sums.parts[turn] = hn::Add(sums.parts[turn], load(f, s + j, part));
        });
        found.mean = sums.total() / count;
    }
    const V mean = hn::Set(f, found.mean);
    Sums<> squares;
    over_row(shape.width, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
        const V d = only(f, hn::Sub(load(f, s + j, part), mean), part);
        squares.parts[turn] = hn::MulAdd(d, d, squares.parts[turn]);
    });
    found.rstd =
        static_cast<float>(1.0 / std::sqrt(static_cast<double>(squares.total() / count) + shape.eps));
    return found;
}

// One pass, and results as the storage dtype holds them.
template <class T>
RowStatistics reduced_statistics(const T* s, const NormShape& shape) {
    const F f;
    const auto count = static_cast<float>(shape.width);
    Sums<> sums, squares;
    over_row(shape.width, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
        const V v = load(f, s + j, part);
        sums.parts[turn] = hn::Add(sums.parts[turn], v);
        squares.parts[turn] = hn::MulAdd(v, v, squares.parts[turn]);
    });
    const float mean = shape.centered ? sums.total() / count : 0.0F;
    const float variance = std::max(squares.total() / count - mean * mean, 0.0F);
    const double rstd = 1.0 / std::sqrt(static_cast<double>(variance) + shape.eps);
    // float16 does not hold the inverse of a deviation below 1.5e-5, as that of a row of zeros.
    const auto stored = static_cast<float>(static_cast<T>(rstd));
    return {static_cast<float>(static_cast<T>(mean)),
            std::isfinite(stored) ? stored : static_cast<float>(rstd)};
}

template <class T>
void normalize(const T* s, T* y, const NormForward<T>& c, const RowStatistics& row) {
    const F f;
    const V mean = hn::Set(f, row.mean), rstd = hn::Set(f, row.rstd);
    over_row(c.shape.width, [&](std::int64_t j, auto part, int) HWY_ATTR {
        V v = hn::Mul(hn::Sub(load(f, s + j, part), mean), rstd);
        const V weight = load(f, c.weight + j, part);
        if (c.beta != nullptr) {
            v = hn::MulAdd(v, weight, load(f, c.beta + j, part));
        } else {
            v = hn::Mul(v, weight);
        }
        store(f, v, y + j, part, c.streams);
    });
}

// Whole lines as they are, around the caches.
template <class T>
void stream_row(const T* from, std::int64_t width, T* to) {
    const hn::CappedTag<std::uint8_t, 64> bytes;
    const auto* const source = reinterpret_cast<const std::uint8_t*>(from);
    auto* const target = reinterpret_cast<std::uint8_t*>(to);
    const auto n = static_cast<std::size_t>(width) * sizeof(T);
    for (std::size_t i = 0; i < n; i += hn::Lanes(bytes))
        hn::Stream(hn::LoadU(bytes, source + i), bytes, target + i);
}

// HWY_FLATTEN here and in backward: what runs over a row is too long for the compiler to put it in place by
// itself, and then takes up to 1.6 times as long.
template <class T>
HWY_FLATTEN void forward(const NormForward<T>& call, std::int64_t begin, std::int64_t end) {
    const NormForward<T> c = call;  // known to nobody else, so that stores of vectors leave it in registers
    std::vector<std::uint16_t> numbers;
    if (c.dropout.active()) numbers.resize(static_cast<std::size_t>(numbers_of(c.shape.width)));
    std::vector<T> kept;  // a sum that is not written yet: it is read twice more
    if (c.streams) kept.resize(static_cast<std::size_t>(c.shape.width));
    for (std::int64_t row = begin; row < end; ++row) {
        const T* const s = row_sum(c, row, numbers.data(), kept.data());
        const RowStatistics statistics =
            c.shape.reduced ? reduced_statistics(s, c.shape) : statistics_of(s, c.shape);
        if (c.statistics != nullptr) c.statistics[row] = statistics;
        normalize(s, c.y + row * c.shape.width, c, statistics);
        if (c.streams && c.sum != nullptr) stream_row(s, c.shape.width, c.sum + row * c.shape.width);
    }
    hwy::FlushStream();
}

// Means over a row of g = grad_y * weight and of g * x_hat.
struct RowMeans {
    float g = 0.0F, g_x_hat = 0.0F;
};

// Rows that backward does side by side: what is read and written once a column - the weight, the sums of
// parameter gradients - serves all of them. More are no faster in float32, and slower in bfloat16.
constexpr int side_by_side = 2;

// How far ahead to fetch: the rows after these, which are read while these are being computed, if rows are
// not too long for that.
std::int64_t distance(const NormShape& shape, int rows) {
    return std::min<std::int64_t>(rows * shape.width, 4096);
}

// Of `rows` rows from `row` on; the terms of the gradients of weight and beta are added on the way.
template <int rows, class T>
HWY_INLINE void row_means(const NormBackward<T>& c, std::int64_t row, RowMeans (&found)[rows]) {
    const F f;
    const std::int64_t width = c.shape.width, next = distance(c.shape, rows);
    const T *const s = c.sum + row * width, *const grad = c.grad_y + row * width;
    V mean[rows], rstd[rows];
    Sums<2> of_g[rows], of_g_x_hat[rows];
    for (int r = 0; r < rows; ++r) {
        mean[r] = hn::Set(f, c.statistics[row + r].mean);
        rstd[r] = hn::Set(f, c.statistics[row + r].rstd);
    }
    over_row(width, [&](std::int64_t j, auto part, int turn) HWY_ATTR {
        const V weight = load(f, c.weight + j, part);
        V grad_weight = c.grad_weight == nullptr ? hn::Zero(f) : load(f, c.grad_weight + j, part);
        V grad_beta = c.grad_beta == nullptr ? hn::Zero(f) : load(f, c.grad_beta + j, part);
        for (int r = 0; r < rows; ++r) {
            const std::int64_t at = r * width + j;
            fetch_ahead(grad + at, next);
            fetch_ahead(s + at, next);
            const V dy = load(f, grad + at, part);
            const V x_hat = hn::Mul(hn::Sub(load(f, s + at, part), mean[r]), rstd[r]);
            const V g = hn::Mul(dy, weight);
            of_g[r].parts[turn & 1] = hn::Add(of_g[r].parts[turn & 1], g);
            of_g_x_hat[r].parts[turn & 1] = hn::MulAdd(g, x_hat, of_g_x_hat[r].parts[turn & 1]);
            grad_weight = hn::MulAdd(dy, x_hat, grad_weight);
            grad_beta = hn::Add(dy, grad_beta);
        }
        if (c.grad_weight != nullptr) store(f, grad_weight, c.grad_weight + j, part);
        if (c.grad_beta != nullptr) store(f, grad_beta, c.grad_beta + j, part);
    });
    const auto count = static_cast<float>(width);
    for (int r = 0; r < rows; ++r)
        found[r] = {c.shape.centered ? of_g[r].total() / count : 0.0F, of_g_x_hat[r].total() / count};
}

// `numbers`: of each row, `space` after the row before; nullptr without dropout.
template <int rows, class T>
HWY_INLINE void write_gradients(const NormBackward<T>& c, std::int64_t row, const RowMeans (&means)[rows],
                                const std::uint16_t* numbers, std::int64_t space) {
    const F f;
    const std::int64_t width = c.shape.width, first = row * width, next = distance(c.shape, rows);
    V mean[rows], rstd[rows], mean_g[rows], mean_g_x_hat[rows];
    for (int r = 0; r < rows; ++r) {
        mean[r] = hn::Set(f, c.statistics[row + r].mean);
        rstd[r] = hn::Set(f, c.statistics[row + r].rstd);
        mean_g[r] = hn::Set(f, means[r].g);
        mean_g_x_hat[r] = hn::Set(f, means[r].g_x_hat);
    }
    over_row(width, [&](std::int64_t j, auto part, int) HWY_ATTR {
        const V weight = load(f, c.weight + j, part);
        V grad_bias = c.grad_bias == nullptr ? hn::Zero(f) : load(f, c.grad_bias + j, part);
        for (int r = 0; r < rows; ++r) {
            const std::int64_t at = first + r * width + j;
            const V x_hat = hn::Mul(hn::Sub(load(f, c.sum + at, part), mean[r]), rstd[r]);
            const V g = hn::Mul(load(f, c.grad_y + at, part), weight);
            V d = hn::Mul(hn::NegMulAdd(x_hat, mean_g_x_hat[r], hn::Sub(g, mean_g[r])), rstd[r]);
            if (c.grad_sum != nullptr) {
                fetch_ahead(c.grad_sum + at, next);
                d = hn::Add(d, load(f, c.grad_sum + at, part));
            }
            if (c.grad_residual != nullptr) store(f, d, c.grad_residual + at, part, c.streams);
            if (numbers != nullptr)
                d = drop(f, d, numbers + r * space + j, c.dropout.threshold, c.dropout.keep_scale);
            if (c.grad_x != nullptr) store(f, d, c.grad_x + at, part, c.streams);
            grad_bias = hn::Add(d, grad_bias);
        }
        if (c.grad_bias != nullptr) store(f, grad_bias, c.grad_bias + j, part);
    });
}

template <int rows, class T>
HWY_INLINE void backward_of(const NormBackward<T>& c, std::int64_t row, std::uint16_t* numbers) {
    RowMeans means[rows];
    row_means(c, row, means);
    if (c.grad_residual == nullptr && c.grad_x == nullptr && c.grad_bias == nullptr) return;
    const std::int64_t width = c.shape.width, space = numbers_of(width);
    for (int r = 0; numbers != nullptr && r < rows; ++r)
        draw_numbers(numbers + r * space, (width + 63) / 64, c.dropout.seed, c.dropout.positions[row + r]);
    write_gradients(c, row, means, numbers, space);
}

template <class T>
HWY_FLATTEN void backward(const NormBackward<T>& call, std::int64_t begin, std::int64_t end) {
    const NormBackward<T> c = call;  // as in forward
    std::vector<std::uint16_t> space;
    if (c.dropout.active()) space.resize(static_cast<std::size_t>(side_by_side * numbers_of(c.shape.width)));
    std::uint16_t* const numbers = c.dropout.active() ? space.data() : nullptr;
    std::int64_t row = begin;
    for (; row + side_by_side <= end; row += side_by_side) backward_of<side_by_side>(c, row, numbers);
    for (; row < end; ++row) backward_of<1>(c, row, numbers);
    hwy::FlushStream();
}

template <class T>
const NormKernels<T>& kernels() {
    static constexpr NormKernels<T> all{forward<T>, backward<T>};
    return all;
}

}  // namespace

const NormKernels<float>& float_norms() { return kernels<float>(); }
const NormKernels<c10::BFloat16>& bfloat16_norms() { return kernels<c10::BFloat16>(); }
const NormKernels<c10::Half>& half_norms() { return kernels<c10::Half>(); }

}  // namespace switchyard::fused::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace switchyard::fused {

HWY_EXPORT(float_norms);
HWY_EXPORT(bfloat16_norms);
HWY_EXPORT(half_norms);

template <>
const NormKernels<float>& norm_kernels() {
    return HWY_DYNAMIC_DISPATCH(float_norms)();
}
template <>
const NormKernels<c10::BFloat16>& norm_kernels() {
    return HWY_DYNAMIC_DISPATCH(bfloat16_norms)();
}
template <>
const NormKernels<c10::Half>& norm_kernels() {
    return HWY_DYNAMIC_DISPATCH(half_norms)();
}

}  // namespace switchyard::fused
#endif

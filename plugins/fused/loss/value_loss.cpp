// Each row is summed by one thread in the order of its values, so sums do not depend on how many there are.
#include "value_loss.h"

#include <cmath>
#include <numeric>

#include <ATen/ops/empty.h>

#include "common/rows.h"

namespace switchyard::fused {
namespace {

struct SquaredError {
    static double loss(double x, double y) { return (x - y) * (x - y); }
    static double slope(double x, double y) { return 2.0 * (x - y); }
};

// By e^-|x|, which is at most 1: nothing overflows.
struct BinaryCrossEntropy {
    static double loss(double x, double y) {
        return (x > 0.0 ? x : 0.0) - x * y + std::log1p(std::exp(-std::abs(x)));
    }
    static double slope(double x, double y) {
        const double e = std::exp(-std::abs(x));
        return (x < 0.0 ? e : 1.0) / (1.0 + e) - y;
    }
};

template <class Body>
void with_loss(LossKind loss, const Body& body) {
    if (loss == LossKind::mean_squared_error) return body(SquaredError());
    body(BinaryCrossEntropy());
}

// body(x, target) for each row's first value, and the row.
template <class T, class Body>
void over(const at::Tensor& x, const at::Tensor& targets, const Body& body) {
    const RowShape shape{x.size(0), x.size(1)};
    over_rows(shape, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t row = begin; row < end; ++row)
            body(data_of<T>(x) + row * shape.width, data_of<float>(targets) + row * shape.width, row);
    });
}

}  // namespace

ValueLosses value_losses(const at::Tensor& x, const at::Tensor& targets, LossKind loss) {
    const std::int64_t width = x.size(1);
    ValueLosses made;
    made.rows.resize(static_cast<std::size_t>(x.size(0)));
    std::vector<std::int64_t> counts(made.rows.size());
    in_storage(x.scalar_type(), [&](auto type) {
        using T = decltype(type);
        with_loss(loss, [&](auto curve) {
            over<T>(x, targets, [&](const T* values, const float* wanted, std::int64_t row) {
                double sum = 0.0;
                std::int64_t count = 0;
                for (std::int64_t i = 0; i < width; ++i) {
                    if (std::isnan(wanted[i])) continue;
                    sum += curve.loss(static_cast<double>(static_cast<float>(values[i])),
                                      static_cast<double>(wanted[i]));
                    ++count;
                }
                made.rows[static_cast<std::size_t>(row)] = sum;
                counts[static_cast<std::size_t>(row)] = count;
            });
        });
    });
    made.count = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    return made;
}

at::Tensor value_gradients(const at::Tensor& x, const at::Tensor& targets, LossKind loss,
                           const RowScale& scale) {
    const std::int64_t width = x.size(1);
    const at::Tensor gradients = at::empty(x.sizes(), x.options());
    in_storage(x.scalar_type(), [&](auto type) {
        using T = decltype(type);
        T* const to = mutable_data_of<T>(gradients);
        with_loss(loss, [&](auto curve) {
            over<T>(x, targets, [&](const T* values, const float* wanted, std::int64_t row) {
                const double factor = scale.of(row);
                for (std::int64_t i = 0; i < width; ++i) {
                    const double slope = curve.slope(static_cast<double>(static_cast<float>(values[i])),
                                                     static_cast<double>(wanted[i]));
                    to[row * width + i] =
                        T(std::isnan(wanted[i]) ? 0.0F : static_cast<float>(factor * slope));
                }
            });
        });
    });
    return gradients;
}

}  // namespace switchyard::fused

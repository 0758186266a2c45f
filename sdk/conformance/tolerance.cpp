#include <switchyard/conformance/tolerance.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <sstream>

#include <ATen/TensorOperators.h>

namespace switchyard::conformance {
namespace {

double ratio(double error, double allowed) {
    if (error == 0.0) return 0.0;
    return allowed > 0.0 ? error / allowed : std::numeric_limits<double>::infinity();
}

// "[1, 0, 5]" of the place number `flat`.
std::string place_of(std::int64_t flat, at::IntArrayRef sizes) {
    std::vector<std::int64_t> index(sizes.size());
    for (std::size_t d = sizes.size(); d-- > 0;) {
        index[d] = flat % sizes[d];
        flat /= sizes[d];
    }
    std::ostringstream text;
    text << at::IntArrayRef(index);
    return text.str();
}

std::string at_place(std::int64_t flat, const at::Tensor& found, const at::Tensor& oracle) {
    std::ostringstream text;
    text << "at " << place_of(flat, oracle.sizes()) << " expected " << oracle.const_data_ptr<double>()[flat]
         << ", got " << found.const_data_ptr<double>()[flat];
    return text.str();
}

// Values in one row: what is asked of each costs more as an operation on tensors than the case itself.
at::Tensor in_order(const at::Tensor& tensor) {
    return tensor.detach().to(at::Device(at::kCPU), at::kDouble).contiguous();
}

bool is_finite(double value) { return std::abs(value) <= std::numeric_limits<double>::max(); }

struct Same {
    explicit Same(const at::Tensor& of) : values(of.const_data_ptr<double>()), count(of.numel()) {}
    double operator[](std::int64_t i) const { return values[i]; }
    const double* values;
    std::int64_t count;
};

struct Difference {
    Difference(const at::Tensor& of, const at::Tensor& other)
        : left(of.const_data_ptr<double>()), right(other.const_data_ptr<double>()), count(of.numel()) {}
    double operator[](std::int64_t i) const { return left[i] - right[i]; }
    const double *left, *right;
    std::int64_t count;
};

// In lanes, which the compiler makes vectors of.
template <class Values>
Spread spread_of_values(const Values& values) {
    constexpr std::int64_t lanes = 8;
    double squares[lanes] = {}, largest[lanes] = {};
    const auto take = [&](std::int64_t lane, double value) {
        value = is_finite(value) ? value : 0.0;
        squares[lane] += value * value;
        largest[lane] = std::max(largest[lane], std::abs(value));
    };
    std::int64_t i = 0;
    for (; i + lanes <= values.count; i += lanes) {
        for (std::int64_t lane = 0; lane < lanes; ++lane) take(lane, values[i + lane]);
    }
    for (; i < values.count; ++i) take(0, values[i]);
    const double sum = std::accumulate(std::begin(squares), std::end(squares), 0.0);
    return {std::sqrt(sum / static_cast<double>(values.count)),
            *std::max_element(std::begin(largest), std::end(largest))};
}

// Where the oracle is not finite: not the same. Where it is: not finite.
bool differs_in_kind(double found, double oracle) {
    if (is_finite(oracle)) return !is_finite(found);
    return found != oracle && !(std::isnan(oracle) && std::isnan(found));
}

}  // namespace

double unit_roundoff(at::ScalarType type) {
    switch (type) {
        case at::ScalarType::Double:
            return std::ldexp(1.0, -53);
        case at::ScalarType::BFloat16:
            return std::ldexp(1.0, -8);
        case at::ScalarType::Half:
            return std::ldexp(1.0, -11);
        default:
            return std::ldexp(1.0, -24);
    }
}

Spread spread_of(const at::Tensor& a, const at::Tensor& b) {
    if (!a.defined() || a.numel() == 0) return {};
    const at::Tensor left = in_order(a);
    return b.defined() ? spread_of_values(Difference{left, in_order(b.expand_as(a))})
                       : spread_of_values(Same{left});
}

Judgement judge(const at::Tensor& candidate, const Yardstick& yardstick) {
    Judgement result;
    const at::Tensor& oracle = yardstick.oracle;
    if (oracle.numel() == 0) return result;
    const at::Tensor found = in_order(candidate);
    const at::Tensor in_row = in_order(oracle);
    const double* const values = found.const_data_ptr<double>();
    const double* const right = in_row.const_data_ptr<double>();
    std::int64_t wrong = 0, first = -1;
    for (std::int64_t i = 0; i < found.numel(); ++i) {
        if (!differs_in_kind(values[i], right[i])) continue;
        if (wrong++ == 0) first = i;
    }
    if (wrong > 0) {
        std::ostringstream text;
        text << wrong << " of " << found.numel() << " values, " << at_place(first, found, in_row);
        return {Judgement::Kind::not_finite, std::numeric_limits<double>::infinity(), text.str(), {}, {}};
    }
    const Spread size = spread_of(in_row);
    const Spread error = spread_of(found, in_row);
    const Spread& reference = yardstick.reference;

    const Spread& natural = yardstick.natural;
    const double as_wide = candidate.scalar_type() == at::kDouble ? 32.0 : 1.0;
    const double u = as_wide * std::max(unit_roundoff(candidate.scalar_type()), yardstick.roundoff);
    Spread allowed{yardstick.factor * reference.rms + u * (2.0 * size.rms + 0.5 * natural.rms),
                   yardstick.factor * std::max(reference.largest, 4.0 * reference.rms) +
                       4.0 * u * std::max(size.largest, natural.largest)};
    if (size.rms < 1e-6 * natural.rms) {
        allowed.rms += 8.0 * u * natural.rms;
        allowed.largest += 32.0 * u * natural.rms;
    }
    if (yardstick.reduced_bound > 0.0) {
        // The rms of few errors is far from that of many by chance: one error in 400 is three times as large.
        const double by_chance = 1.0 + 2.0 / std::sqrt(static_cast<double>(oracle.numel()));
        const double natural_size = std::max({size.rms, 1e-6 * natural.rms, yardstick.reduced_size});
        allowed = {yardstick.reduced_bound * by_chance * natural_size + yardstick.reduced_rounding,
                   std::numeric_limits<double>::infinity()};
    }
    result.error = error;
    result.allowed = allowed;
    result.ratio = std::max(ratio(error.rms, allowed.rms), ratio(error.largest, allowed.largest));
    if (result.ratio <= 1.0) return result;
    result.kind = Judgement::Kind::too_far;
    const Difference differences(found, in_row);
    std::int64_t largest_error = 0;
    double largest = -1.0;
    for (std::int64_t i = 0; i < differences.count; ++i) {
        const double size_of_error = std::abs(differences[i]);
        if (!is_finite(right[i]) || size_of_error <= largest) continue;
        largest = size_of_error;
        largest_error = i;
    }
    std::ostringstream text;
    text << "rms error " << error.rms << " (allowed " << allowed.rms << "), largest " << error.largest
         << " (allowed " << allowed.largest << "), rms of the oracle " << size.rms << "; "
         << at_place(largest_error, found, in_row);
    result.detail = text.str();
    return result;
}

}  // namespace switchyard::conformance

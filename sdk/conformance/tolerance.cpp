#include <switchyard/conformance/tolerance.h>

#include <algorithm>
#include <cmath>
#include <limits>
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

std::string at_place(const at::Tensor& badness, const at::Tensor& candidate, const at::Tensor& oracle) {
    const auto flat = badness.argmax().item<std::int64_t>();
    std::ostringstream text;
    text << "at " << place_of(flat, oracle.sizes()) << " expected "
         << oracle.reshape({-1})[flat].item<double>() << ", got "
         << candidate.reshape({-1})[flat].item<double>();
    return text.str();
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
    at::Tensor x = a.detach().to(at::kDouble);
    if (b.defined()) x = x - b.detach().to(at::kDouble);
    x = x.masked_fill(x.isfinite().logical_not(), 0.0);
    return {std::sqrt(x.square().mean().item<double>()), x.abs().max().item<double>()};
}

Judgement judge(const at::Tensor& candidate, const Yardstick& yardstick) {
    Judgement result;
    const at::Tensor& oracle = yardstick.oracle;
    if (oracle.numel() == 0) return result;
    const at::Tensor found = candidate.detach().to(at::kDouble);
    const at::Tensor infinite = oracle.isfinite().logical_not();
    const at::Tensor both_nan = oracle.isnan().logical_and(found.isnan());
    const at::Tensor bad = infinite.logical_and(found.ne(oracle))
                               .logical_or(infinite.logical_not().logical_and(found.isfinite().logical_not()))
                               .logical_and(both_nan.logical_not());
    if (bad.any().item<bool>()) {
        std::ostringstream text;
        text << bad.sum().item<std::int64_t>() << " of " << bad.numel() << " values, "
             << at_place(bad.to(at::kDouble), found, oracle);
        return {Judgement::Kind::not_finite, std::numeric_limits<double>::infinity(), text.str(), {}, {}};
    }
    const Spread size = spread_of(oracle);
    const Spread error = spread_of(found, oracle);
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
    std::ostringstream text;
    text << "rms error " << error.rms << " (allowed " << allowed.rms << "), largest " << error.largest
         << " (allowed " << allowed.largest << "), rms of the oracle " << size.rms << "; "
         << at_place((found - oracle).masked_fill(infinite, 0.0).abs(), found, oracle);
    result.detail = text.str();
    return result;
}

}  // namespace switchyard::conformance

#include <switchyard/compare/accuracy.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <ATen/TensorOperators.h>

namespace switchyard::compare {

namespace {

struct Distance {
    double rms = 0.0;
    double max = 0.0;
};

double rms_of(const at::Tensor& tensor) {
    return tensor.numel() == 0 ? 0.0 : std::sqrt(tensor.square().mean().item<double>());
}

// Relative to the oracle's root mean square; absolute where that is 0.
Distance distance(const at::Tensor& value, const at::Tensor& oracle) {
    const at::Tensor exact = oracle.to(at::kDouble);
    if (exact.numel() == 0) return {};
    const at::Tensor difference = value.to(at::kDouble) - exact;
    const double scale = rms_of(exact) > 0.0 ? rms_of(exact) : 1.0;
    return {rms_of(difference) / scale, difference.abs().max().item<double>() / scale};
}

// Rounding the oracle itself to the dtype, and a few units in the last place beyond.
Distance floor_of(const at::Tensor& oracle, at::ScalarType dtype) {
    constexpr double units = 4.0;
    const Distance rounded = distance(oracle.to(at::kDouble).to(dtype), oracle);
    return {units * rounded.rms, units * rounded.max};
}

void keep_worst(ErrorReport& worst, double& ratio, double error, double allowed, const std::string& of) {
    const double own = std::isnan(error) ? std::numeric_limits<double>::infinity()
                       : allowed > 0.0   ? error / allowed
                                         : (error > 0.0 ? 1e300 : 0.0);
    if (own <= ratio) return;
    ratio = own;
    worst.error = error;
    worst.allowed = allowed;
    worst.of = of;
}

}  // namespace

ErrorReport judge_results(const CheckedTensors& candidate, const CheckedTensors& reference,
                          const CheckedTensors& oracle, double bound) {
    if (candidate.size() != oracle.size() || reference.size() != oracle.size()) {
        throw std::logic_error("the backend gives " + std::to_string(candidate.size()) +
                               " results, the oracle " + std::to_string(oracle.size()));
    }
    ErrorReport worst;
    double ratio = -1.0;
    for (std::size_t i = 0; i < oracle.size(); ++i) {
        const Distance own = distance(candidate[i].value, oracle[i].value);
        const Distance plain = distance(reference[i].value, oracle[i].value);
        const Distance floor = floor_of(oracle[i].value, candidate[i].value.scalar_type());
        const double factor = oracle[i].gradient ? 3.0 : 2.0;
        const double declared = bound > 0.0 ? bound : 0.0;
        keep_worst(worst, ratio, own.rms, std::max(declared, factor * plain.rms + floor.rms),
                   "rms of " + oracle[i].name);
        if (declared == 0.0)
            keep_worst(worst, ratio, own.max, factor * plain.max + floor.max, "max of " + oracle[i].name);
    }
    return worst;
}

}  // namespace switchyard::compare

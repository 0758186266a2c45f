#include "core/workbench/train/shadow/drift.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <sstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include "core/workbench/train/nonfinite.h"

namespace switchyard::train {
namespace {

// Sums over one pair of tensors.
struct Sums {
    double trusted_squares = 0.0, squares = 0.0, largest = 0.0;
    std::int64_t compared = 0;
    std::int64_t broken = 0;  // not finite on the candidate's side alone

    double trusted_rms() const { return root(trusted_squares); }
    double rms() const { return root(squares); }

private:
    double root(double sum) const {
        return compared == 0 ? 0.0 : std::sqrt(sum / static_cast<double>(compared));
    }
};

// Piece by piece, in float64: logits are large.
Sums sums_of(const at::Tensor& trusted, const at::Tensor& candidate) {
    constexpr std::int64_t piece = 1 << 20;
    const auto whole_trusted = trusted.reshape(-1), whole_candidate = candidate.reshape(-1);
    Sums sums;
    for (std::int64_t begin = 0; begin < whole_trusted.numel(); begin += piece) {
        const auto length = std::min(piece, whole_trusted.numel() - begin);
        const auto expected = whole_trusted.narrow(0, begin, length).to(at::kDouble);
        const auto got = whole_candidate.narrow(0, begin, length).to(at::kDouble);
        const auto finite = at::isfinite(expected), both = finite & at::isfinite(got);
        const auto difference = at::where(both, got - expected, 0.0);
        const auto kept = at::where(both, expected, 0.0);
        sums.compared += both.sum().item<std::int64_t>();
        sums.broken += (finite & both.logical_not()).sum().item<std::int64_t>();
        sums.trusted_squares += (kept * kept).sum().item<double>();
        sums.squares += (difference * difference).sum().item<double>();
        sums.largest = std::max(sums.largest, difference.abs().max().item<double>());
    }
    return sums;
}

double resolution_of(at::ScalarType dtype) {
    if (dtype == at::kDouble) return std::numeric_limits<double>::epsilon();
    if (dtype == at::kBFloat16) return 0x1p-8;
    if (dtype == at::kHalf) return 0x1p-11;
    return std::numeric_limits<float>::epsilon();
}

// Operations see to it that tensors are what they should be, up to leading sizes of one.
std::string misfit_of(const at::Tensor& trusted, const at::Tensor& candidate) {
    std::ostringstream text;
    if (trusted.numel() != candidate.numel())
        text << "gave " << candidate.sizes() << ", expected " << trusted.sizes();
    return text.str();
}

struct Measured {
    const char* name;
    Sums sums;
    double resolution;
};

class Comparison {
public:
    explicit Comparison(std::string_view what) : what_(what) {}

    void add(TensorPair pair) {
        if (!pair.trusted.defined() && !pair.candidate.defined()) return;
        if (!pair.trusted.defined()) pair.trusted = at::zeros_like(pair.candidate);
        if (!pair.candidate.defined()) pair.candidate = at::zeros_like(pair.trusted);
        const std::string name = std::string(what_) + pair.name;
        if (const auto misfit = misfit_of(pair.trusted, pair.candidate); !misfit.empty())
            return blame(misfit + " as " + name);
        if (pair.trusted.numel() == 0) return;
        const auto sums = sums_of(pair.trusted, pair.candidate);
        if (sums.broken > 0) return blame("gave " + nonfinite_counts(pair.candidate) + " in " + name);
        measured_.push_back({pair.name, sums, resolution_of(pair.trusted.scalar_type())});
    }

    Drift drift() && {
        double largest_rms = 0.0;
        for (const auto& [name, sums, resolution] : measured_)
            largest_rms = std::max(largest_rms, sums.trusted_rms());
        for (const auto& [name, sums, resolution] : measured_) {
            if (sums.largest == 0.0) {
                if (drift_.tensor.empty()) drift_.tensor = name;
                continue;
            }
            const double scale = std::max(sums.trusted_rms(), resolution * largest_rms);
            if (scale == 0.0) {
                blame("gave " + std::string(what_) + name +
                      " that is not zero, as that of the trusted one is");
                continue;
            }
            drift_.mean = std::max(drift_.mean, sums.rms() / scale);
            if (sums.largest / scale <= drift_.largest) continue;
            drift_.largest = sums.largest / scale;
            drift_.tensor = name;
        }
        return std::move(drift_);
    }

private:
    void blame(std::string fault) {
        if (drift_.fault.empty()) drift_.fault = std::move(fault);
    }

    std::string_view what_;
    std::vector<Measured> measured_;
    Drift drift_;
};

}  // namespace

Drift drift_of(const std::vector<TensorPair>& pairs, std::string_view what) {
    Comparison comparison(what);
    for (const auto& pair : pairs) comparison.add(pair);
    return std::move(comparison).drift();
}

}  // namespace switchyard::train

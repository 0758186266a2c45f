#include "core/workbench/compare/experiment/comparison.h"
#include "core/kernel/base/number_text.h"

#include <algorithm>
#include <cmath>

namespace switchyard::compare {
namespace {

// Largest relative error of rounding to nearest: half the distance between 1 and the next number.
double unit_roundoff(const std::string& dtype) {
    if (dtype == "float64") return 0x1p-53;
    if (dtype == "float32") return 0x1p-24;
    if (dtype == "float16") return 0x1p-11;
    if (dtype == "bfloat16") return 0x1p-8;
    if (dtype.starts_with("float8")) return 0x1p-4;
    return std::numeric_limits<double>::quiet_NaN();
}

// Weights are rounded once, and every intermediate result of a layer again; sums are taken in another order.
constexpr double roundings = 16.0;

// `rounding`: of both dtypes together.
Drift allowed_by(const Drift& amplification, double rounding) {
    const double output = rounding * amplification.output;
    // The loss of a row moves by less than its logits do; by how much less is chance, and no bound. Where
    // there are no logits, by less than the gradients that it is made of.
    const double logits = std::isnan(output) ? rounding * amplification.gradient : output;
    return {std::fmax(logits, rounding * amplification.loss), output, rounding * amplification.gradient};
}

// Of products or of what is kept of them, whichever is coarser.
double rounding_of(const Ready& arm) {
    const double products = unit_roundoff(arm.dtype);
    if (arm.reduced) return std::numeric_limits<double>::quiet_NaN();
    if (arm.cache_dtype.empty()) return products;
    const double kept = unit_roundoff(arm.cache_dtype);
    return std::isnan(kept) ? kept : std::max(products, kept);
}

}  // namespace

bool Comparison::forced() const {
    return std::any_of(arms.begin(), arms.end(),
                       [](const ArmResult& arm) { return !arm.spec.differs.empty(); });
}

double Comparison::most_of_others() const {
    double most = -1.0;
    for (const auto& arm : arms) {
        if (!arm.measured_before.empty()) continue;
        for (const auto& block : arm.blocks) {
            if (block && !block->repeated) most = std::max(most, block->others_share);
        }
    }
    return most;
}

const PairResult* Comparison::pair_with(std::size_t arm) const {
    const auto found =
        std::find_if(pairs.begin(), pairs.end(), [arm](const PairResult& pair) { return pair.arm == arm; });
    return found == pairs.end() ? nullptr : &*found;
}

double Comparison::flops_per_second(std::size_t arm) const {
    const auto& result = arms[arm];
    if (!result.ok() || !result.observed || result.observed->tokens < 1)
        return std::numeric_limits<double>::quiet_NaN();
    // Padded places are computed too: as many beside a token as in the step that was observed.
    const auto& step = *result.observed;
    return step.cost.flops / static_cast<double>(step.tokens) * result.tokens_per_second;
}

int Comparison::exit_code() const {
    if (stopped || std::any_of(arms.begin(), arms.end(), [](const ArmResult& arm) { return !arm.ok(); }))
        return 1;
    const bool wrong = std::any_of(pairs.begin(), pairs.end(), [](const PairResult& pair) {
        return pair.verdict == bench::SpeedVerdict::wrong;
    });
    return wrong ? 5 : 0;
}

Drift allowed_drift(const Drift& amplification, const std::string& base_dtype, const std::string& arm_dtype) {
    return allowed_by(amplification, roundings * (unit_roundoff(base_dtype) + unit_roundoff(arm_dtype)));
}

Drift allowed_generation_drift(const Drift& amplification, const Ready& base, const Ready& arm) {
    return allowed_by(amplification, roundings * (rounding_of(base) + rounding_of(arm)));
}

std::string too_far(const Drift& drift, const Drift& allowed) {
    const auto one = [](const char* what, double is, double may) -> std::string {
        if (std::isnan(is) || std::isnan(may) || is <= may) return "";
        if (std::isinf(is))
            return std::string(what) +
                   " of another shape than the base's, or not finite, or the base's are all 0";
        return std::string(what) + " " + base::scientific(is) + " from the base's, rounding explains " +
               base::scientific(may);
    };
    if (const auto text = one("its outputs are", drift.output, allowed.output); !text.empty()) return text;
    if (const auto text = one("its gradients are", drift.gradient, allowed.gradient); !text.empty())
        return text;
    return one("its first loss is", drift.loss, allowed.loss);
}

}  // namespace switchyard::compare

#include "core/workbench/quantize/magnitudes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include <ATen/ops/histc.h>
#include <ATen/ops/isfinite.h>

namespace switchyard::quantize {
namespace {

constexpr std::size_t levels = 128;  // magnitudes that 8 bits with a sign tell apart

// LibTorch counts in floats, and from here on one more leaves such a count as it is.
constexpr std::int64_t counted_at_once = std::int64_t{1} << 24;

double sum(std::span<const double> counts) { return std::accumulate(counts.begin(), counts.end(), 0.0); }

// The counts as `levels` steps would leave them: each step's count, spread over those of its bins that are
// not empty.
std::vector<double> in_levels(std::span<const double> counts) {
    std::vector<double> spread(counts.size(), 0.0);
    for (std::size_t level = 0; level < levels; ++level) {
        const auto from = level * counts.size() / levels, to = (level + 1) * counts.size() / levels;
        const auto step = counts.subspan(from, to - from);
        const auto filled = step.size() - static_cast<std::size_t>(std::ranges::count(step, 0.0));
        if (filled == 0) continue;
        const double share = sum(step) / static_cast<double>(filled);
        for (std::size_t i = from; i < to; ++i)
            if (counts[i] > 0.0) spread[i] = share;
    }
    return spread;
}

// Of the counts with all that lies beyond them put into the last bin, from what levels leave of them. Where
// nothing is left of a last bin that has numbers, it counts as holding this share: the divergence would be
// infinite, however few they are (so does MXNet's calibration).
double divergence(std::span<const double> counts, double beyond) {
    constexpr double smoothed = 1e-4;
    auto kept = in_levels(counts);
    if (kept.back() == 0.0 && beyond > 0.0) kept.back() = smoothed * sum(kept);
    const double all = sum(counts) + beyond, within = sum(kept);
    if (within == 0.0) return std::numeric_limits<double>::infinity();
    double result = 0.0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const double meant = counts[i] + (i + 1 == counts.size() ? beyond : 0.0);
        if (meant > 0.0) result += meant / all * std::log(meant / all / (kept[i] / within));
    }
    return result;
}

}  // namespace

void Magnitudes::fit(double magnitude) {
    if (width_ == 0.0) {
        width_ = magnitude / static_cast<double>(bin_count);
        bins_[0] += zeros_;
        zeros_ = 0.0;
    }
    while (magnitude > width_ * static_cast<double>(bin_count)) {
        for (std::size_t i = 0; i < bin_count / 2; ++i) bins_[i] = bins_[2 * i] + bins_[2 * i + 1];
        std::fill(bins_.begin() + bin_count / 2, bins_.end(), 0.0);
        width_ *= 2.0;
    }
}

void Magnitudes::add(const at::Tensor& numbers) {
    auto all = numbers.detach().reshape({-1}).to(at::kFloat).abs();
    if (const auto finite = at::isfinite(all); !finite.all().item<bool>()) all = all.masked_select(finite);
    if (all.numel() == 0) return;
    const auto largest = all.max().item<double>();
    largest_ = std::max(largest_, largest);
    if (largest > 0.0) fit(largest);
    if (width_ == 0.0) {
        zeros_ += static_cast<double>(all.numel());
        return;
    }
    const double top = width_ * static_cast<double>(bin_count);
    for (std::int64_t first = 0; first < all.numel(); first += counted_at_once) {
        const auto some = all.narrow(0, first, std::min(counted_at_once, all.numel() - first));
        const auto counts = at::histc(some, static_cast<std::int64_t>(bin_count), 0.0, top).contiguous();
        const float* const found = counts.const_data_ptr<float>();
        for (std::size_t i = 0; i < bin_count; ++i) bins_[i] += found[i];
    }
}

double Magnitudes::percentile(double percent) const {
    const double wanted = sum(bins_) * percent / 100.0;
    double below = 0.0;
    for (std::size_t i = 0; i < bin_count; ++i) {
        below += bins_[i];
        if (below >= wanted) return std::min(largest_, width_ * static_cast<double>(i + 1));
    }
    return largest_;
}

double Magnitudes::entropy() const {
    const std::span<const double> all(bins_);
    double best = std::numeric_limits<double>::infinity(), range = largest_,
           beyond = sum(all.subspan(levels));
    for (std::size_t count = levels; count <= bin_count; ++count) {
        if (count > levels) beyond -= bins_[count - 1];
        const double lost = divergence(all.first(count), beyond);
        if (lost >= best) continue;
        best = lost;
        range = std::min(largest_, width_ * static_cast<double>(count));
    }
    return range;
}

double Magnitudes::range(RangeRule rule, double percent) const {
    if (width_ == 0.0 || rule == RangeRule::minmax) return largest_;
    return rule == RangeRule::percentile ? percentile(percent) : entropy();
}

}  // namespace switchyard::quantize

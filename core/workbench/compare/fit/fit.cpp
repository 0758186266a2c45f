#include "core/workbench/compare/fit/fit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace switchyard::compare {
namespace {

class Search {
public:
    explicit Search(const FitSettings& settings) : settings_(settings) {}

    FitResult run() {
        double_up();
        halve();
        result_.largest = fits_;
        result_.at_most = fits_ == settings_.most;
        result_.most_is = settings_.most_is;
        std::ranges::sort(result_.samples, {}, &FitSample::size);
        return std::move(result_);
    }

private:
    void double_up() {
        for (std::int64_t size = 1; going() && size < too_large_; size = std::min(2 * size, settings_.most)) {
            if (const auto end = estimated_end(); end && *end < size) return;
            attempt(size);
        }
    }

    // As long as no size is known that is too large, the end of the line is tried, and then sizes a little,
    // and ever more, above the largest that fits: never one that takes a multiple of the memory. Then the
    // line is asked in every second try at most, so that what is left is halved however wrong it is.
    void halve() {
        bool by_line = true;
        for (std::int64_t above = 1; going() && fits_ > 0;) {
            const auto end = estimated_end();
            const bool helps = end && *end > fits_;
            if (too_large_ > settings_.most) {
                const auto next = helps ? *end : fits_ + std::exchange(above, 2 * above);
                attempt(std::min({next, 2 * fits_, settings_.most}));
                continue;
            }
            const auto low = fits_ + 1, high = too_large_ - 1;
            auto next = low + (high - low) / 2;
            // What fits is looked for at the end of the line, what does not right behind it.
            if (by_line && end) next = std::clamp(helps ? *end : low, low, high);
            by_line = !by_line || next == low;
            attempt(next);
        }
    }

    bool going() {
        if (settings_.stop && settings_.stop()) result_.stopped = true;
        return !result_.stopped && fits_ + 1 < too_large_ && fits_ < settings_.most;
    }

    void attempt(std::int64_t size) {
        auto sample = settings_.try_size(size);
        sample.size = size;
        const bool measured = sample.outcome != FitOutcome::failed && sample.peak_bytes >= 0;
        if (!measured && settings_.stop && settings_.stop()) {
            result_.stopped = true;  // it was ended, which says nothing of its size
            return;
        }
        if (sample.outcome == FitOutcome::fits && sample.peak_bytes > settings_.memory_bytes) {
            sample.outcome = FitOutcome::too_large;
            sample.reason = "its peak is above the memory";
        }
        if (sample.outcome == FitOutcome::fits)
            fits_ = std::max(fits_, size);
        else
            too_large_ = std::min(too_large_, size);
        result_.samples.push_back(std::move(sample));
    }

    // The largest size that the line through the two largest known peaks allows.
    std::optional<std::int64_t> estimated_end() const {
        const FitSample *last = nullptr, *before = nullptr;
        for (const auto& sample : result_.samples) {
            if (sample.peak_bytes < 0) continue;
            if (last == nullptr || sample.size > last->size)
                before = last, last = &sample;
            else if (before == nullptr || sample.size > before->size)
                before = &sample;
        }
        if (before == nullptr) return std::nullopt;
        const auto more = static_cast<double>(last->peak_bytes - before->peak_bytes);
        if (more <= 0.0) return std::nullopt;
        const double each = more / static_cast<double>(last->size - before->size);
        const double room = static_cast<double>(settings_.memory_bytes - last->peak_bytes);
        const double end = static_cast<double>(last->size) + std::floor(room / each);
        return static_cast<std::int64_t>(std::clamp(end, 0.0, static_cast<double>(settings_.most)));
    }

    const FitSettings& settings_;
    FitResult result_;
    std::int64_t fits_ = 0;
    std::int64_t too_large_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace

const FitSample* FitResult::find(std::int64_t size) const {
    const auto found = std::ranges::find(samples, size, &FitSample::size);
    return found == samples.end() ? nullptr : &*found;
}

const FitSample* FitResult::failed_above() const {
    const auto above =
        std::ranges::find_if(samples, [this](const FitSample& one) { return one.size > largest; });
    return above != samples.end() && above->outcome == FitOutcome::failed ? &*above : nullptr;
}

FitResult find_largest_batch(const FitSettings& settings) { return Search(settings).run(); }

}  // namespace switchyard::compare

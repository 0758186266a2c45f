#include "core/workbench/compare/experiment/effects.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/arm_list.h"
#include "core/workbench/compare/experiment/contrast.h"

namespace switchyard::compare {
namespace {

using Levels = std::vector<std::size_t>;

class Factorial {
public:
    explicit Factorial(const Comparison& comparison) : comparison_(comparison) {
        for (std::size_t at = 0; at < comparison.arms.size(); ++at) {
            const auto& arm = comparison.arms[at];
            if (arm.spec.levels.size() < 2 || !arm.measured_before.empty()) continue;
            all_.push_back(arm.spec.levels);
            if (arm.ok()) arms_.emplace(arm.spec.levels, at);
        }
    }

    std::vector<Effect> effects() {
        if (all_.empty() || !arms_.contains(none())) return {};
        for (std::size_t factor = 0; factor < all_.front().size(); ++factor) {
            for (std::size_t level = 1; level < levels_of(factor); ++level) of_one(factor, level);
        }
        for (const auto& levels : all_) {
            if (changed(levels) > 1) of_several(levels);
        }
        return std::move(effects_);
    }

private:
    Levels none() const { return Levels(all_.front().size(), 0); }
    Levels only(std::size_t factor, std::size_t level) const {
        auto levels = none();
        levels[factor] = level;
        return levels;
    }
    std::size_t levels_of(std::size_t factor) const {
        std::size_t most = 0;
        for (const auto& levels : all_) most = std::max(most, levels[factor] + 1);
        return most;
    }
    static std::ptrdiff_t changed(const Levels& levels) {
        return std::count_if(levels.begin(), levels.end(), [](std::size_t level) { return level > 0; });
    }

    std::string change(const Levels& levels) const {
        const auto& spec = comparison_.arms[arms_.at(levels)].spec;
        std::string text;
        for (std::size_t factor = 0; factor < levels.size(); ++factor) {
            if (levels[factor] == 0) continue;
            text += (text.empty() ? "" : " ") + short_name(spec.overrides[factor]);
        }
        return text;
    }

    // Positive weights make an effect larger where the arm is faster. False: an arm is missing.
    bool add(ArmWeights& weights, const Levels& levels, double weight) const {
        const auto found = arms_.find(levels);
        if (found == arms_.end()) return false;
        weights[found->second] += weight;
        return true;
    }

    void of_one(std::size_t factor, std::size_t level) {
        const auto alone = only(factor, level);
        ArmWeights weights;
        if (!add(weights, alone, 1.0)) return;
        add(weights, none(), -1.0);
        tell(EffectKind::alone, change(alone), weights);

        ArmWeights average;
        std::size_t combinations = 0;
        for (const auto& levels : all_) {
            if (levels[factor] != level) continue;
            auto without = levels;
            without[factor] = 0;
            if (!add(average, levels, 1.0) || !add(average, without, -1.0)) return;
            ++combinations;
        }
        if (combinations < 2) return;
        for (auto& [arm, weight] : average) weight /= static_cast<double>(combinations);
        tell(EffectKind::average, change(alone), average);
    }

    void of_several(const Levels& levels) {
        ArmWeights together;
        if (!add(together, levels, 1.0)) return;
        add(together, none(), -1.0);
        const auto text = change(levels);
        tell(EffectKind::together, text, together);
        ArmWeights interaction = together;
        for (std::size_t factor = 0; factor < levels.size(); ++factor) {
            if (levels[factor] == 0) continue;
            if (!add(interaction, only(factor, levels[factor]), -1.0)) return;
            add(interaction, none(), 1.0);
        }
        tell(EffectKind::interaction, text, interaction);
    }

    void tell(EffectKind kind, const std::string& change, const ArmWeights& weights) {
        effects_.push_back({kind, change, contrast(comparison_, weights)});
    }

    const Comparison& comparison_;
    std::vector<Levels> all_;
    std::map<Levels, std::size_t> arms_;  // those that work
    std::vector<Effect> effects_;
};

std::string percent(double ratio) {
    const double rounded = std::round(1000.0 * (ratio - 1.0)) / 10.0;
    char text[32];
    std::snprintf(text, sizeof text, rounded == 0.0 ? "0.0 %%" : "%+.1f %%", rounded);
    return text;
}

}  // namespace

std::string effect_text(const base::Interval& ratio) {
    if (!std::isfinite(ratio.low)) return percent(ratio.median);
    return percent(ratio.median) + " [" + percent(ratio.low) + ", " + percent(ratio.high) + "]";
}

std::vector<Effect> effects_of(const Comparison& comparison) { return Factorial(comparison).effects(); }

std::string effects_text(const std::vector<Effect>& effects) {
    if (effects.empty()) return "";
    using Align = bench::TextTable::Align;
    bench::TextTable table(
        {{"what it makes faster [95 %]", Align::left}, {"alone or together"}, {"average, interaction"}});
    for (std::size_t i = 0; i < effects.size(); ++i) {
        const auto& effect = effects[i];
        std::string second;
        if (i + 1 < effects.size() && effects[i + 1].change == effect.change) {
            const auto& other = effects[++i];
            second = std::string(name(other.kind)) + " " + effect_text(other.estimate.ratio);
        }
        table.row({effect.change, effect_text(effect.estimate.ratio), second});
    }
    return "\n" + table.render("  ", 110);
}

}  // namespace switchyard::compare

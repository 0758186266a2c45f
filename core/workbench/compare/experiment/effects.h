// What each factor of a factorial experiment (`--vary` several times) does: alone, on the average over the
// others, together with others, and whether that is more than the parts.
//
// All of it is contrasts: sums of logarithms of times with weights that add up to nothing, block by block, of
// which intervals are made as of a ratio of two arms (bench/measure/ratio_estimate.h). The machine's mood
// cancels as it does there.
//
// No LibTorch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/bench/measure/ratio_estimate.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// alone: against the arm with the first value of every factor.
// average: over all combinations of the other factors.
// together: several at once, against the same arm as `alone`.
// interaction: by how much `together` is more than the product of what each gives alone; 1: nothing.
enum class EffectKind : std::uint8_t { alone, average, together, interaction };

struct Effect {
    EffectKind kind = EffectKind::alone;
    std::string change;  // "attention=flash", "attention=flash precision=torch/bf16"
    bench::RatioEstimate estimate;
};

// Nothing where there are no two factors, or where the arm that all are held against failed. What needs an
// arm that failed is left out; so are average and interaction where factors were varied one at a time.
std::vector<Effect> effects_of(const Comparison& comparison);

// "+21.0 % [+19.8 %, +22.3 %]": how much faster a ratio of speeds is.
std::string effect_text(const base::Interval& ratio);

std::string effects_text(const std::vector<Effect>& effects);

}  // namespace switchyard::compare

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<compare::EffectKind>{"alone", "average", "together",
                                                                            "interaction"};
}  // namespace switchyard

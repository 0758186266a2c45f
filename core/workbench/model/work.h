// What a batch gives a model to do, real tokens alone: padding is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace switchyard::model {

// What a module's operations are counted by.
enum class Unit : std::uint8_t {
    source,        // tokens of the only side, or of the one that goes into an encoder beside a decoder
    target,        // tokens of the other side
    sequences,     // of one label each
    labels,        // tokens that have one: of the others no word is predicted
    source_pairs,  // pairs of a token that attends and one that is attended to, both of the source
    target_pairs,
    cross_pairs  // of the target and of the source
};
inline constexpr std::size_t unit_count = 7;

// A number for each unit: how many of them there are, or what one of them costs.
struct Work {
    std::array<double, unit_count> amounts{};

    double& operator[](Unit unit) { return amounts[static_cast<std::size_t>(unit)]; }
    double operator[](Unit unit) const { return amounts[static_cast<std::size_t>(unit)]; }
    Work& operator+=(const Work& other) {
        for (std::size_t i = 0; i < unit_count; ++i) amounts[i] += other.amounts[i];
        return *this;
    }
};

}  // namespace switchyard::model

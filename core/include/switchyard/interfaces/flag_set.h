// A set of enumerators as one integer, e.g. FlagSet<MaskKind>{MaskKind::causal, MaskKind::alibi}.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace switchyard {

template <class Enum>
struct FlagSet {
    std::uint32_t bits = 0;

    constexpr FlagSet() = default;
    constexpr FlagSet(std::initializer_list<Enum> members) {
        for (const Enum member : members) insert(member);
    }
    static constexpr std::uint32_t bit(Enum member) { return 1U << static_cast<unsigned>(member); }
    constexpr bool has(Enum member) const { return (bits & bit(member)) != 0; }
    constexpr bool empty() const { return bits == 0; }
    constexpr bool within(FlagSet other) const { return (bits & ~other.bits) == 0; }
    constexpr void insert(Enum member) { bits |= bit(member); }
    constexpr void erase(Enum member) { bits &= ~bit(member); }
    constexpr bool operator==(const FlagSet&) const = default;
};

}  // namespace switchyard

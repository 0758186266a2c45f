// A set of enumerators as one integer, e.g. FlagSet<MaskKind>{MaskKind::causal, MaskKind::alibi}; in text it
// is its members' names: "causal, alibi".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

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

// In the order of the enumeration. A member that this build has no name for - a later host may ask for one -
// is told by its number: "#9".
template <class Enum>
std::vector<std::string> names_of(FlagSet<Enum> set) {
    std::vector<std::string> list;
    for (unsigned member = 0; member < 32; ++member) {
        if ((set.bits >> member & 1U) == 0) continue;
        if (member < names<Enum>.size())
            list.emplace_back(names<Enum>[member]);
        else
            list.emplace_back(1, '#').append(std::to_string(member));
    }
    return list;
}

// "causal, key_lengths"; of an empty set "none".
template <class Enum>
std::string to_text(FlagSet<Enum> set, std::string_view between = ", ") {
    std::string text;
    for (const std::string& member : names_of(set)) {
        if (!text.empty()) text += between;
        text += member;
    }
    return text.empty() ? "none" : text;
}

template <class Enum>
std::ostream& operator<<(std::ostream& stream, FlagSet<Enum> set) {
    return stream << to_text(set);
}

}  // namespace switchyard

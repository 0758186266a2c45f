// A line of the table: binds a member of a section to its key. Included by the sources of the table only.
#pragma once

#include <type_traits>
#include <utility>

#include "core/kernel/config/table.h"

namespace switchyard::config {

// Members travel as values; enumerations as their names, an empty optional one as "auto".
template <class T>
Value pack(const T& member) {
    if constexpr (std::is_enum_v<T>)
        return std::string(name(member));
    else
        return member;
}
template <class Enum>
Value pack(const std::optional<Enum>& member) {
    return std::string(member ? name(*member) : "auto");
}
inline Value pack(const std::optional<bool>& member) {
    return std::string(!member ? "auto" : *member ? "true" : "false");
}
template <class Enum>
requires std::is_enum_v<Enum> Value pack(const std::vector<Enum>& members) {
    std::vector<std::string> texts;
    for (const Enum member : members) texts.emplace_back(name(member));
    return texts;
}

template <class T>
void unpack(const Value& value, T& member) {
    if constexpr (std::is_enum_v<T>)
        member = *parse<T>(std::get<std::string>(value));
    else
        member = std::get<T>(value);
}
inline void unpack(const Value& value, std::optional<bool>& member) {
    const auto& text = std::get<std::string>(value);
    member = text == "auto" ? std::nullopt : std::optional(text == "true");
}
template <class Enum>
void unpack(const Value& value, std::optional<Enum>& member) {
    member = parse<Enum>(std::get<std::string>(value));
}
template <class Enum>
requires std::is_enum_v<Enum>
void unpack(const Value& value, std::vector<Enum>& members) {
    members.clear();
    for (const auto& text : std::get<std::vector<std::string>>(value)) members.push_back(*parse<Enum>(text));
}

template <class T>
struct EnumOf {
    using type = T;
};
template <class T>
struct EnumOf<std::optional<T>> {
    using type = T;
};
template <class T>
struct EnumOf<std::vector<T>> {
    using type = T;
};

// What a member of type T may be without limits of its own.
template <class T>
ValueSpec natural_spec() {
    using Enum = typename EnumOf<T>::type;
    ValueSpec spec;
    if constexpr (std::is_same_v<T, std::optional<bool>>) {
        spec.limits.choices = {"auto", "true", "false"};
    } else if constexpr (std::is_enum_v<Enum>) {
        if (std::is_same_v<T, std::vector<Enum>>) spec.type = ValueType::list;
        const auto& all = names<Enum>;
        spec.limits.choices.assign(all.begin(), all.begin() + known_formulas<Enum>);
        spec.limits.custom = known_formulas<Enum> < all.size();
    } else {
        spec.type = static_cast<ValueType>(Value(T{}).index());
    }
    return spec;
}

template <auto SectionMember>
struct Rows {
    Section section;

    template <auto Member>
    Field& add(std::string_view name, std::string_view help, ValueLimits limits = {}, Notes notes = {}) {
        static const Config standard;
        using T = std::remove_cvref_t<decltype((standard.*SectionMember).*Member)>;
        ValueSpec spec = natural_spec<T>();
        spec.key = section.name + '.' + std::string(name);
        spec.default_value = pack((standard.*SectionMember).*Member);
        if (limits.choices.empty()) limits.choices = std::move(spec.limits.choices);
        limits.custom = limits.custom || spec.limits.custom;
        spec.limits = std::move(limits);
        spec.help = help;
        section.fields.push_back(
            {std::move(spec), std::move(notes),
             [](const Config& config) { return pack((config.*SectionMember).*Member); },
             [](Config& config, const Value& value) { unpack(value, (config.*SectionMember).*Member); }});
        return section.fields.back();
    }

    // A formula that may be one of a component's own, whose name is kept in the member Custom.
    template <auto Formula, auto Custom>
    Field& add_formula(std::string_view name, std::string_view help, Notes notes = {}) {
        Field& field = add<Formula>(name, help, {}, std::move(notes));
        field.get = [](const Config& config) {
            const auto& in = config.*SectionMember;
            return Value(formula_name(in.*Formula, in.*Custom));
        };
        field.set = [](Config& config, const Value& value) {
            auto& in = config.*SectionMember;
            in.*Custom = custom_name(std::get<std::string>(value));
            using Enum = std::remove_cvref_t<decltype(in.*Formula)>;
            in.*Formula = (in.*Custom).empty() ? *parse<Enum>(std::get<std::string>(value)) : Enum::custom;
        };
        return field;
    }
};

}  // namespace switchyard::config

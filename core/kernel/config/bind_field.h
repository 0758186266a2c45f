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

// The shape of a member of type T without limits of its own.
template <class T>
Shape natural_shape() {
    using Enum = typename EnumOf<T>::type;
    Shape shape;
    if constexpr (std::is_same_v<T, std::optional<bool>>) {
        shape.type = Type::choice;
        shape.limits.choices = {"auto", "true", "false"};
    } else if constexpr (std::is_enum_v<Enum>) {
        shape.type = std::is_same_v<T, std::vector<Enum>> ? Type::choices : Type::choice;
        shape.limits.choices.assign(names<Enum>.begin(), names<Enum>.end());
    } else {
        constexpr Type by_index[] = {Type::boolean, Type::integer, Type::number,
                                     Type::text,    Type::texts,   Type::numbers};
        shape.type = by_index[Value(T{}).index()];
    }
    return shape;
}

template <auto SectionMember>
struct Rows {
    Section section;

    template <auto Member>
    Field& add(std::string_view name, std::string_view help, Limits limits = {}, Notes notes = {}) {
        using T = std::remove_cvref_t<decltype((std::declval<Config&>().*SectionMember).*Member)>;
        Shape shape = natural_shape<T>();
        if (limits.choices.empty()) limits.choices = std::move(shape.limits.choices);
        shape.limits = std::move(limits);
        const std::string key = std::string(section.name) + '.' + std::string(name);
        section.fields.push_back(
            {key, std::string(help), std::move(shape), std::move(notes),
             [](const Config& config) { return pack((config.*SectionMember).*Member); },
             [](Config& config, const Value& value) { unpack(value, (config.*SectionMember).*Member); }});
        return section.fields.back();
    }
};

}  // namespace switchyard::config

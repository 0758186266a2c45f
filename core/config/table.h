// Every key of the configuration, once: its path, type, range, default and meaning, and the member that holds
// it. Parsing, validation, suggestions, `config schema`, `config show` and docs/config.md are all made from
// it. A new key is one line in table_model.cpp (what is computed), table_run.cpp (how it runs) or
// table_slots.cpp (who computes).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <switchyard/config/config.h>
#include <switchyard/config/value.h>

namespace switchyard::config {

enum class Type : std::uint8_t { boolean, integer, number, text, choice, texts, numbers, choices, backend };

// What a value may be.
struct Shape {
    Type type = Type::text;
    std::optional<double> low{}, high{};
    bool low_open = false, high_open = false;  // the bound itself is not allowed
    std::size_t count = 0;                     // length of a list; 0: any
    std::vector<std::string_view> choices{};
};

// "integer", "one of", "list of numbers", ...
std::string_view type_text(Type type);
// ">= 0 and < 1", or empty.
std::string range_text(const Shape& shape);
// `an integer >= 1`, `one of "pre", "post"`
std::string expected_text(const Shape& shape);

// A default as it stands in a table.
using Literal = std::variant<bool, std::int64_t, double, std::string_view>;

struct Field {
    std::string key;  // "model.layers"
    std::string_view help;
    Shape shape;
    Value (*get)(const Config&) = nullptr;
    void (*set)(Config&, const Value&) = nullptr;
    std::string_view derived{};    // what the default is taken from, for display; derive.cpp computes it
    std::vector<Literal> usual{};  // the default for bert, gpt, t5; empty: the same for all
    std::string_view also{};       // names that others use for it, for suggestions; separated by blanks
    bool per_layer = false;        // may stand in a [[layer]] rule

    Field&& within(double low, double high) && {
        shape.low = low, shape.high = high;
        return std::move(*this);
    }
    Field&& at_least(double low) && {
        shape.low = low;
        return std::move(*this);
    }
    Field&& above(double low) && {
        shape.low = low, shape.low_open = true;
        return std::move(*this);
    }
    Field&& below(double high) && {
        shape.high = high, shape.high_open = true;
        return std::move(*this);
    }
    Field&& length(std::size_t count) && {
        shape.count = count;
        return std::move(*this);
    }
    Field&& one_of(std::vector<std::string_view> names) && {
        shape.choices = std::move(names);
        return std::move(*this);
    }
    Field&& from(std::string_view text) && {
        derived = text;
        return std::move(*this);
    }
    Field&& usually(Literal bert, Literal gpt, Literal t5) && {
        usual = {bert, gpt, t5};
        return std::move(*this);
    }
    Field&& known_as(std::string_view names) && {
        also = names;
        return std::move(*this);
    }
    Field&& for_layers() && {
        per_layer = true;
        return std::move(*this);
    }
};

// Sections in the order in which they are shown, with a sentence about each.
struct Section {
    std::string_view name;
    std::string_view help;
    std::vector<Field> fields;
};

const std::vector<Section>& sections();
// What a field is by default in a model of that type.
Value default_value(const Field& field, ModelType type);
const Field* find_field(std::string_view key);
// The kind whose options stand under `path` ("attention.options").
std::optional<Kind> kind_of_options(std::string_view path);

std::vector<Field> run_fields();
std::vector<Field> runtime_fields();
std::vector<Field> plugins_fields();
std::vector<Field> batch_fields();
std::vector<Field> model_fields();
std::vector<Field> slot_fields(Kind kind);

namespace detail {

template <class T>
struct Traits;
template <>
struct Traits<bool> {
    static constexpr Type type = Type::boolean;
};
template <>
struct Traits<std::int64_t> {
    static constexpr Type type = Type::integer;
};
template <>
struct Traits<double> {
    static constexpr Type type = Type::number;
};
template <>
struct Traits<std::string> {
    static constexpr Type type = Type::text;
};
template <>
struct Traits<std::vector<std::string>> {
    static constexpr Type type = Type::texts;
};
template <>
struct Traits<std::vector<double>> {
    static constexpr Type type = Type::numbers;
};

// Enumerations travel as their names; an optional one has "auto" besides.
template <class Enum>
requires std::is_enum_v<Enum>
struct Traits<Enum> {
    static constexpr Type type = Type::choice;
    static std::vector<std::string_view> choices() { return {names<Enum>.begin(), names<Enum>.end()}; }
    static Value pack(Enum value) { return std::string(name(value)); }
    static Enum unpack(const Value& value) { return *parse<Enum>(std::get<std::string>(value)); }
};
template <class Enum>
struct Traits<std::optional<Enum>> : Traits<Enum> {
    static Value pack(const std::optional<Enum>& value) { return std::string(value ? name(*value) : "auto"); }
    static std::optional<Enum> unpack(const Value& value) {
        return parse<Enum>(std::get<std::string>(value));
    }
};
template <class Enum>
requires std::is_enum_v<Enum>
struct Traits<std::vector<Enum>> : Traits<Enum> {
    static constexpr Type type = Type::choices;
    static Value pack(const std::vector<Enum>& values) {
        std::vector<std::string> texts;
        for (const Enum value : values) texts.emplace_back(name(value));
        return texts;
    }
    static std::vector<Enum> unpack(const Value& value) {
        std::vector<Enum> values;
        for (const auto& text : std::get<std::vector<std::string>>(value))
            values.push_back(*parse<Enum>(text));
        return values;
    }
};

template <class T>
concept Packed = requires(const T& value) {
    Traits<T>::pack(value);
};

}  // namespace detail

// The line of a table:
//     field<&Config::model, &ModelConfig::layers>("model.layers", "layers of the encoder").at_least(1)
template <auto SectionMember, auto Member>
Field field(std::string key, std::string_view help) {
    using T = std::remove_cvref_t<decltype((std::declval<Config&>().*SectionMember).*Member)>;
    using Traits = detail::Traits<T>;
    Field made{.key = std::move(key), .help = help, .shape = {.type = Traits::type}};
    made.get = [](const Config& config) -> Value {
        const T& value = (config.*SectionMember).*Member;
        if constexpr (detail::Packed<T>)
            return Traits::pack(value);
        else
            return value;
    };
    made.set = [](Config& config, const Value& value) {
        T& target = (config.*SectionMember).*Member;
        if constexpr (detail::Packed<T>)
            target = Traits::unpack(value);
        else
            target = std::get<T>(value);
    };
    if constexpr (detail::Packed<T>) made.shape.choices = Traits::choices();
    return made;
}

}  // namespace switchyard::config

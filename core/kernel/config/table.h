// Every key of the configuration, once (table.cpp): path, type, range, default, meaning, and the member that
// holds it. Parsing, validation, suggestions, `config schema`, `config show` and docs/config.md come from it.
// A new key is one entry there, or in table_job.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

enum class Type : std::uint8_t { boolean, integer, number, text, choice, texts, numbers, choices, backend };

struct Limits {
    std::optional<double> low{};
    std::optional<double> high{};
    bool low_open = false;  // the bound itself is not allowed
    bool high_open = false;
    std::size_t count = 0;  // length of a list; 0: any
    std::vector<std::string_view> choices{};
};

inline Limits at_least(double low) { return {.low = low}; }
inline Limits within(double low, double high) { return {.low = low, .high = high}; }

// What a value may be.
struct Shape {
    Type type = Type::text;
    Limits limits{};
};

// A default as it stands in the table.
using Literal = std::variant<bool, std::int64_t, double, std::string_view>;

struct Notes {
    std::string_view derived{};    // what the default is taken from, for display; derive.cpp computes it
    std::vector<Literal> usual{};  // the default for bert, gpt, t5; empty: the same for all
    std::string_view also{};       // names that others use for it, for suggestions; separated by blanks
    bool per_layer = false;        // may stand in a [[layer]] rule
    bool path = false;             // names files, relative to the file that it is written in
};

struct Field {
    std::string key;  // "model.layers"
    std::string help;
    Shape shape;
    Notes notes;
    Value (*get)(const Config&) = nullptr;
    void (*set)(Config&, const Value&) = nullptr;
};

struct Section {
    std::string_view name;
    std::string_view help;  // a sentence
    std::vector<Field> fields;
};

// In the order in which they are shown.
const std::vector<Section>& sections();
const Field* find_field(std::string_view key);
// What a field is by default in a model of that type.
Value default_value(const Field& field, ModelType type);
// Of a choice that is a switch or "auto": the words that are written as booleans.
constexpr bool is_switch_word(std::string_view word) { return word == "true" || word == "false"; }
// As TOML text; a single backend without brackets, as it is usually written.
std::string value_text(const Field& field, const Value& value);
// The kind whose options stand under `path` ("attention.options").
std::optional<Kind> kind_of_options(std::string_view path);

}  // namespace switchyard::config

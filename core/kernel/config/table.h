// Every key of the configuration, once (table.cpp): path, type, range, default, meaning, and the member that
// holds it. Parsing, validation, suggestions, `config schema`, `config show` and docs/config.md come from it.
// A new key is one entry there, or in table_job.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/config.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

inline ValueLimits at_least(double min) { return {.min = min}; }
inline ValueLimits within(double min, double max) { return {.min = min, .max = max}; }

struct Notes {
    std::string_view derived{};   // what the default is taken from, for display; derive.cpp computes it
    std::vector<Value> usual{};   // the default for bert, gpt, t5; empty: the same for all
    std::string_view also{};      // names that others use for it, for suggestions; separated by blanks
    std::string_view formerly{};  // its name in earlier versions
    bool per_layer = false;       // may stand in a [[layer]] rule
    bool path = false;            // names files, relative to the file that it is written in
    bool program = false;         // its first word is a program: with a slash a path as above, else in PATH
};

// Its default is a bert's.
struct Field : ValueSpec {
    Notes notes;
    Value (*get)(const Config&) = nullptr;
    void (*set)(Config&, const Value&) = nullptr;
};

struct Section {
    std::string name;
    std::string_view help;  // a sentence
    std::vector<Field> fields;
};

// In the order in which they are shown.
const std::vector<Section>& sections();
const Field* find_field(std::string_view key);
// The field that an earlier version knew by this key.
const Field* find_renamed(std::string_view key);
// What a field is by default in a model of that type.
Value default_value(const Field& field, ModelType type);
// As TOML text; a single backend without brackets, as it is usually written.
std::string value_text(const ValueSpec& spec, const Value& value);
// The kind whose options stand under `path` ("attention.options").
std::optional<Kind> kind_of_options(std::string_view path);

}  // namespace switchyard::config

#include <switchyard/config/schema.h>

#include <array>
#include <ostream>

#include <nlohmann/json.hpp>

#include <switchyard/config/check_value.h>
#include <switchyard/config/reader.h>
#include <switchyard/config/table.h>

namespace switchyard::config {
namespace {

// A key as all three forms show it.
struct Row {
    std::string key;
    std::string help;
    Shape shape;
    Value standard;
    std::string_view derived;
    std::array<Value, 3> usual;  // meaningful if by_type
    bool by_type = false;
    bool per_layer = false;
};

Row row_of(const Field& field) {
    Row row{field.key,
            std::string(field.help),
            field.shape,
            default_value(field, ModelType::bert),
            field.derived,
            {},
            !field.usual.empty(),
            field.per_layer};
    for (std::size_t i = 0; i < row.usual.size(); ++i)
        row.usual[i] = default_value(field, static_cast<ModelType>(i));
    return row;
}

Row row_of(const OptionSpec& spec, Kind kind, const std::string& component) {
    const std::string key = full_key({std::string(name(kind)) + ".options", component, spec.name, {}, {}});
    return {key, spec.help, shape_of(spec), from_option(spec.default_value),
            {},  {},        false,          kind <= Kind::activation};
}

std::string default_text(const Row& row) {
    if (!row.derived.empty()) return std::string(row.derived);
    if (!row.by_type) return to_toml(row.standard);
    if (row.usual[0] == row.usual[1] && row.usual[1] == row.usual[2]) return to_toml(row.usual[0]);
    std::string text;
    for (std::size_t i = 0; i < row.usual.size(); ++i) {
        text += (i == 0 ? "" : ", ") + to_toml(row.usual[i]) + " (" + std::string(names<ModelType>[i]) + ')';
    }
    return text;
}

// "integer >= 1 and <= 1000", "one of pre, post"
std::string type_and_range(const Row& row) {
    std::string text(row.shape.choices.empty()        ? type_text(row.shape.type)
                     : row.shape.type == Type::choice ? "one of"
                                                      : "list of");
    if (row.shape.count != 0) text = "list of " + std::to_string(row.shape.count) + " numbers";
    std::string choices;
    for (const auto choice : row.shape.choices)
        choices += (choices.empty() ? " " : ", ") + std::string(choice);
    const std::string range = range_text(row.shape);
    return text + choices + (range.empty() ? "" : ' ' + range);
}

void write_row(std::ostream& out, const Row& row, const std::string& key) {
    out << "  " << key << " = " << default_text(row) << '\n';
    out << "      " << type_and_range(row) << (row.per_layer ? "; also in [[layer]]" : "") << '\n';
    if (!row.help.empty()) out << "      " << row.help << '\n';
}

nlohmann::json json_of(const Value& value) {
    return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

nlohmann::json json_of(const Row& row) {
    nlohmann::json entry{{"key", row.key},
                         {"type", type_text(row.shape.type)},
                         {"help", row.help},
                         {"per_layer", row.per_layer}};
    entry["default"] = row.derived.empty() ? json_of(row.standard) : nlohmann::json(nullptr);
    if (!row.derived.empty()) entry["derived"] = row.derived;
    for (std::size_t i = 0; row.by_type && i < row.usual.size(); ++i) {
        entry["usual"][std::string(names<ModelType>[i])] = json_of(row.usual[i]);
    }
    if (row.shape.low) entry[row.shape.low_open ? "above" : "min"] = *row.shape.low;
    if (row.shape.high) entry[row.shape.high_open ? "below" : "max"] = *row.shape.high;
    if (!row.shape.choices.empty()) entry["choices"] = row.shape.choices;
    return entry;
}

constexpr char introduction[] = R"(# Configuration

Made from the tables in `core/config` by `switchyard config schema --markdown`; do not edit by hand.

A configuration is a TOML file. Every key has a default; a key that is not listed here is an error.
`switchyard config show CONFIG --origin` prints every value that holds and where it came from.

## Where values come from

Later wins: defaults, then the preset, then included files in their order, then the file itself, then `--set`.

```toml
preset = "gpt2"                 # sizes of a known model: a file of configs/presets
include = ["base.toml"]         # other files, relative to this one

[attention]
backend = "torch"               # [plugin/]component[@variant], a list in order of preference, or "auto"

[attention.options.chunked]     # options of one component; they count where it is the one that is chosen
chunk_size = 256

[[layer]]                       # other values for some layers; later rules win
match = "decoder.0-3,11"        # "*", or encoder or decoder with numbers, ranges or *
attention.backend = "naive"     # the keys marked "layer" below
```

`--set KEY=VALUE` takes any key and a TOML value; a word that is no TOML value is a string:
`--set optimizer.lr=3e-4`, `--set attention.backend=[flash,chunked]`, `--set preset=gpt2`.

All mistakes are told in one pass, each with its place. A file has at most 1 MiB.

## Keys
)";

std::string in_cell(std::string_view text) {
    std::string result;
    for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
    return result;
}

}  // namespace

void write_schema(std::ostream& out, const OptionSchemas* schemas) {
    for (const auto& section : sections()) {
        out << '[' << section.name << "]  " << section.help << '\n';
        for (const auto& field : section.fields)
            write_row(out, row_of(field), field.key.substr(section.name.size() + 1));
        out << '\n';
    }
    if (schemas == nullptr) return;
    for (const auto& [id, schema] : *schemas) {
        if (schema.empty()) continue;
        out << '[' << name(id.first) << ".options." << key_text(id.second) << "]\n";
        for (const auto& spec : schema)
            write_row(out, row_of(spec, id.first, id.second), key_text(spec.name));
        out << '\n';
    }
}

void write_schema_markdown(std::ostream& out) {
    out << introduction;
    for (const auto& section : sections()) {
        out << "\n### [" << section.name << "]\n\n"
            << section.help << "\n\n| key | type | default | meaning |\n|---|---|---|---|\n";
        for (const auto& field : section.fields) {
            const Row row = row_of(field);
            const std::string standard = default_text(row);
            out << "| `" << field.key.substr(section.name.size() + 1) << "` | "
                << in_cell(type_and_range(row)) << " | "
                << (row.derived.empty() && !row.by_type ? '`' + standard + '`' : in_cell(standard)) << " | "
                << in_cell(row.help) << (row.per_layer ? " (layer)" : "") << " |\n";
        }
        if (parse<Kind>(section.name)) {
            out << "\n`[" << section.name
                << ".options.COMPONENT]` holds the options of a component, as its plugin declares them.\n";
        }
    }
}

nlohmann::json schema_json(const OptionSchemas* schemas) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) rows.push_back(json_of(row_of(field)));
    }
    if (schemas == nullptr) return rows;
    for (const auto& [id, schema] : *schemas) {
        for (const auto& spec : schema) rows.push_back(json_of(row_of(spec, id.first, id.second)));
    }
    return rows;
}

}  // namespace switchyard::config

#include "core/kernel/config/schema.h"

#include <algorithm>
#include <ostream>
#include <set>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/group_table.h"
#include "core/kernel/config/reader.h"
#include "core/kernel/config/show.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/table.h"

namespace switchyard::config {
namespace {

std::string default_text(const Field& field) {
    if (!field.notes.derived.empty()) return std::string(field.notes.derived);
    std::string text;
    std::set<std::string> different;
    for (const auto type : names<ModelType>) {
        const std::string value = value_text(field, default_value(field, *parse<ModelType>(type)));
        base::add_item(text, value + " (" + std::string(type) + ')');
        different.insert(value);
    }
    return different.size() == 1 ? *different.begin() : text;
}

// The keys of the tables of a list as those of a section.
template <class Item>
Section list_section(std::string_view path, std::string_view help,
                     const std::vector<ItemField<Item>>& fields) {
    Section section{std::string(path), help, {}};
    for (const auto& item : fields) {
        Field& field = section.fields.emplace_back(Field{static_cast<const ValueSpec&>(item), {}});
        field.key = section.name + '.' + item.key;
    }
    return section;
}

std::string heading(const Section& section) {
    const bool list = section.name == source_path || section.name == group_path;
    return list ? "[[" + section.name + "]]" : '[' + section.name + ']';
}

// The keys of the configuration, and the options of each component that has any.
std::vector<Section> sections_with(const OptionSchemas* schemas) {
    std::vector<Section> all = sections();
    const auto add_after = [&](const char* name, Section section) {
        all.insert(std::ranges::find(all, name, &Section::name) + 1, std::move(section));
    };
    add_after("data", list_section(source_path, source_help, source_fields()));
    add_after("optimizer", list_section(group_path, group_help, group_fields()));
    for (const auto& [id, schema] : schemas != nullptr ? *schemas : OptionSchemas{}) {
        if (schema.options.empty()) continue;
        Section section{std::string(name(id.first)) + ".options." + key_text(id.second), {}, {}};
        for (const auto& spec : schema.options) {
            Field& field =
                section.fields.emplace_back(Field{spec, {.per_layer = facts_of(id.first).per_layer}});
            field.key = section.name + '.' + key_text(spec.key);
        }
        all.push_back(std::move(section));
    }
    return all;
}

// The key within its section.
std::string short_key(const Section& section, const Field& field) {
    return field.key.substr(section.name.size() + 1);
}

nlohmann::json json_of(const Field& field) {
    const ValueLimits& limits = field.limits;
    nlohmann::json entry{{"key", field.key},
                         {"type", type_name(field)},
                         {"help", field.help},
                         {"per_layer", field.notes.per_layer}};
    entry["default"] =
        field.notes.derived.empty() ? value_json(field.default_value) : nlohmann::json(nullptr);
    if (!field.notes.derived.empty()) entry["derived"] = field.notes.derived;
    for (std::size_t i = 0; i < field.notes.usual.size(); ++i) {
        entry["usual"][std::string(names<ModelType>[i])] =
            value_json(default_value(field, static_cast<ModelType>(i)));
    }
    if (limits.min) entry[limits.above_min ? "above" : "min"] = *limits.min;
    if (limits.max) entry[limits.below_max ? "below" : "max"] = *limits.max;
    if (limits.length > 0) entry["length"] = limits.length;
    if (!limits.choices.empty()) entry["choices"] = limits.choices;
    if (limits.custom) entry["custom"] = true;
    return entry;
}

constexpr char introduction[] = R"(# Configuration

Made from the tables in `core/kernel/config` by
`switchyard config schema --markdown docs/config.md`; do not edit by hand.

A configuration is a TOML file. Every key has a default; a key that is not listed here is an error.
`switchyard config show CONFIG --origin` prints every value in effect and where it comes from.

## Where values come from

Later wins: defaults, the preset, included files in their order, the folder or file of a model that `[model] from` names, the file itself,
`--set`.

```toml
preset = "gpt2"                 # sizes of a known model: a file of configs/presets
include = ["base.toml"]         # other files, relative to this one

[model]
from = "MiniLM-L6"              # a Hugging Face folder or a GGUF file: sizes, formulas and, as train.weights, its weights and tokenizer

[attention]
backend = "mine"                # [plugin/]component[@variant], a list in order of preference, or "auto"

[attention.options.mine]        # options of one component, used where it is chosen
block = 256

[[layer]]                       # other values for some layers; later rules win
match = "decoder.0-3,11"        # "*", or encoder or decoder with numbers, ranges or *
attention.backend = "theirs"    # the keys marked "layer" below

[[data.source]]                 # instead of data.train: samples drawn by weight from several sources
files = ["reviews/*.csv.gz"]    # the last file that has any says all of them
weight = 3.0

[[group]]                       # parameters that are trained in a way of their own, see below
match = ["embeddings.*", "encoder.0.*"]
lr_factor = 0.1

[[arm]]                         # for `switchyard compare` only, see compare.md
name = "half precision"
set = ["precision.backend=torch/bf16"]

[[arm]]                         # an external program; it runs in the folder of this file
program = ["python3", "peer.py"]
```

`--set KEY=VALUE` takes any key and a TOML value; a word that is not a TOML value is a string:
`--set optimizer.lr=3e-4`, `--set attention.backend=[mine,theirs]`, `--set preset=gpt2`. A preset that `--set` names takes the place of those
that files name: all that they and other `--set` write stays. Files that `--set include` names, and what `--set model.from` reads, come after the file.

All mistakes are reported in one pass, each with its place. A file has at most 1 MiB.

## Keys
)";

}  // namespace

void write_schema(std::ostream& out, const OptionSchemas* schemas) {
    for (const auto& section : sections_with(schemas)) {
        out << heading(section) << (section.help.empty() ? "" : "  ") << section.help << '\n';
        for (const auto& field : section.fields) {
            out << "  " << short_key(section, field) << " = " << default_text(field) << "\n      "
                << short_text(field) << (field.notes.per_layer ? "; also in [[layer]]" : "") << '\n';
            if (!field.help.empty()) out << "      " << field.help << '\n';
        }
        out << '\n';
    }
}

void write_schema_markdown(std::ostream& out) {
    out << introduction;
    for (const auto& section : sections_with(nullptr)) {
        out << "\n### " << heading(section) << "\n\n"
            << section.help << "\n\n| key | type | default | meaning |\n|---|---|---|---|\n";
        for (const auto& field : section.fields) {
            const bool one_value = field.notes.derived.empty() && field.notes.usual.empty();
            const std::string quote = one_value ? "`" : "";
            out << "| `" << short_key(section, field) << "` | " << short_text(field) << " | " << quote
                << default_text(field) << quote << " | " << field.help
                << (field.notes.per_layer ? " (layer)" : "") << " |\n";
        }
        if (!parse<Kind>(section.name)) continue;
        out << "\n`[" << section.name
            << ".options.COMPONENT]` holds the options of a component, as its plugin declares them.\n";
    }
}

nlohmann::json schema_json(const OptionSchemas* schemas) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& section : sections_with(schemas)) {
        for (const auto& field : section.fields) rows.push_back(json_of(field));
    }
    return rows;
}

}  // namespace switchyard::config

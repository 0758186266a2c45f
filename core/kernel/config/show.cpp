#include "core/kernel/config/show.h"

#include <algorithm>
#include <cstdio>
#include <ostream>
#include <sstream>

#include <xxhash.h>
#include <nlohmann/json.hpp>

#include "core/kernel/config/check_value.h"
#include "core/kernel/config/group_table.h"
#include "core/kernel/config/reader.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/table.h"

namespace switchyard::config {
namespace {

struct Line {
    std::string text;    // a line of TOML
    std::string origin;  // empty: none
};

void write(std::ostream& out, const std::vector<Line>& lines, bool origin) {
    constexpr std::size_t widest = 60;
    std::size_t width = 0;
    for (const auto& line : lines) {
        if (!line.origin.empty() && line.text.size() <= widest) width = std::max(width, line.text.size());
    }
    for (const auto& line : lines) {
        out << line.text;
        if (origin && !line.origin.empty()) {
            out << std::string(width > line.text.size() ? width - line.text.size() : 0, ' ') << "  # "
                << line.origin;
        }
        out << '\n';
    }
}

std::string option_path(std::string_view slot, const std::string& component, const std::string& option) {
    return full_key({std::string(slot) + ".options", component, option, {}, {}});
}

// Options that nobody wrote stand as comments, so that the text also loads where their plugin is not
// installed.
void add_component(std::vector<Line>& lines, const Config& config, const std::string& slot,
                   const std::string& component, const Options& options) {
    std::vector<Line> values;
    bool any_written = false;
    for (const auto& [option, value] : options.values()) {
        const std::string path = option_path(slot, component, option);
        const bool written = config.origins.count(path) > 0;
        any_written = any_written || written;
        values.push_back(
            {(written ? "" : "# ") + key_text(option) + " = " + to_toml(value), config.where(path)});
    }
    if (values.empty()) return;
    lines.push_back({"", ""});
    lines.push_back(
        {std::string(any_written ? "[" : "# [") + slot + ".options." + key_text(component) + ']', ""});
    lines.insert(lines.end(), values.begin(), values.end());
}

// Bare ids first: read again, what stands under "plugin/id" is then the later, as it is in effect.
void add_options(std::vector<Line>& lines, const Config& config, Kind kind) {
    for (const bool full : {false, true}) {
        for (const auto& [component, options] : config.slot(kind).options) {
            if ((component.find('/') != std::string::npos) == full)
                add_component(lines, config, std::string(name(kind)), component, options);
        }
    }
}

template <class Item>
void add_items(std::vector<Line>& lines, std::string_view path, const std::vector<Item>& items,
               const std::vector<ItemField<Item>>& fields) {
    for (const auto& item : items) {
        lines.push_back({"", ""});
        lines.push_back({"[[" + std::string(path) + "]]", to_string(item.origin)});
        for (const auto& field : fields) lines.push_back({field.key + " = " + to_toml(field.get(item)), ""});
    }
}

template <class Item>
nlohmann::json items_json(const std::vector<Item>& items, const std::vector<ItemField<Item>>& fields) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : items) {
        nlohmann::json entry{{"origin", to_string(item.origin)}};
        for (const auto& field : fields) entry[field.key] = value_json(field.get(item));
        list.push_back(std::move(entry));
    }
    return list;
}

// What decides on which parameters are trained, and how.
void add_canonical_groups(std::map<std::string, std::string>& values, const Config& config) {
    std::string text;
    for (const auto& group : config.groups) {
        text += "group\n";
        for (const auto& field : group_fields())
            text += "  " + field.key + " = " + to_toml(field.get(group)) + '\n';
    }
    if (!text.empty()) values[std::string(group_path)] = text;
}

// What decides on the samples of [[data.source]], and where they are.
void add_canonical_sources(std::map<std::string, std::string>& values, const Config& config) {
    if (config.data.sources.empty()) return;
    std::string drawn, files;
    for (const auto& source : config.data.sources) {
        drawn += "source\n";
        for (const auto& field : source_fields())
            (field.path ? files : drawn) += "  " + field.key + " = " + to_toml(field.get(source)) + '\n';
    }
    values[std::string(source_path)] = drawn;
    values[std::string(source_path) + ".files"] = files;
}

// All keys, those of options too, with what they hold, in the order of the tables.
template <class Visit>
void for_each_value(const Config& config, Visit visit) {
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) visit(field.key, field.get(config));
    }
    for (const auto kind_name : names<Kind>) {
        for (const auto& [component, options] : config.slot(*parse<Kind>(kind_name)).options) {
            for (const auto& [option, value] : options.values()) {
                visit(option_path(kind_name, component, option), value);
            }
        }
    }
}

}  // namespace

nlohmann::json value_json(const Value& value) {
    return std::visit([](const auto& held) { return nlohmann::json(held); }, value);
}

void show(std::ostream& out, const Config& config, bool origin) {
    std::vector<Line> lines;
    for (const auto& section : sections()) {
        if (!lines.empty()) lines.push_back({"", ""});
        lines.push_back({'[' + std::string(section.name) + ']', ""});
        for (const auto& field : section.fields) {
            lines.push_back(
                {field.key.substr(section.name.size() + 1) + " = " + value_text(field, field.get(config)),
                 config.where(field.key)});
        }
        if (section.name == "data") add_items(lines, source_path, config.data.sources, source_fields());
        if (const auto kind = parse<Kind>(section.name)) add_options(lines, config, *kind);
    }
    add_items(lines, group_path, config.groups, group_fields());
    for (const auto& rule : config.layers) {
        lines.push_back({"", ""});
        lines.push_back({"[[layer]]", ""});
        lines.push_back({"match = " + toml_string(rule.match), to_string(rule.origin)});
        for (const auto& assignment : rule.values) {
            lines.push_back(
                {full_key(assignment) + " = " + to_toml(assignment.value), to_string(assignment.origin)});
        }
    }
    write(out, lines, origin);
}

nlohmann::json show_json(const Config& config) {
    nlohmann::json values = nlohmann::json::object();
    for_each_value(config, [&](const std::string& key, const Value& value) {
        values[key] = {{"value", value_json(value)}, {"origin", config.where(key)}};
    });
    nlohmann::json layers = nlohmann::json::array();
    for (const auto& rule : config.layers) {
        nlohmann::json changed = nlohmann::json::object();
        for (const auto& assignment : rule.values) {
            changed[full_key(assignment)] = {{"value", value_json(assignment.value)},
                                             {"origin", to_string(assignment.origin)}};
        }
        layers.push_back(
            {{"match", rule.match}, {"origin", to_string(rule.origin)}, {"values", std::move(changed)}});
    }
    nlohmann::json shown{{"values", std::move(values)}, {"layers", std::move(layers)}};
    if (!config.data.sources.empty()) shown["sources"] = items_json(config.data.sources, source_fields());
    if (!config.groups.empty()) shown["groups"] = items_json(config.groups, group_fields());
    return shown;
}

std::map<std::string, std::string> canonical_values(const Config& config) {
    std::map<std::string, std::string> values;
    for_each_value(config, [&](const std::string& key, const Value& value) {
        const bool left_to_plugin = find_field(key) == nullptr && config.origins.count(key) == 0;
        if (!left_to_plugin) values[key] = to_toml(value);
    });
    add_canonical_sources(values, config);
    add_canonical_groups(values, config);
    std::string rules;
    for (const auto& rule : config.layers) {
        rules += "layer " + toml_string(rule.match) + '\n';
        std::vector<std::string> lines;
        for (const auto& assignment : rule.values)
            lines.push_back("  " + full_key(assignment) + " = " + to_toml(assignment.value) + '\n');
        std::sort(lines.begin(), lines.end());
        for (const auto& line : lines) rules += line;
    }
    if (!rules.empty()) values["layer"] = rules;
    return values;
}

std::string canonical_text(const Config& config) {
    auto values = canonical_values(config);
    const auto rules = values.extract("layer");
    std::vector<std::string> lines;
    for (const auto& [key, value] : values) lines.push_back(key + " = " + value + '\n');
    std::sort(lines.begin(),
              lines.end());  // as lines: "a.b = " and "a.b_c = " are not in the order of their keys
    std::string text;
    for (const auto& line : lines) text += line;
    return rules.empty() ? text : text + rules.mapped();
}

std::string fingerprint(const Config& config) {
    const std::string text = canonical_text(config);
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx",
                  static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
    return digits;
}

}  // namespace switchyard::config

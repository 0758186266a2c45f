#include "core/kernel/config/reader.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/group_table.h"
#include "core/kernel/config/source_table.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/config/table.h"

namespace switchyard::config {
namespace {

std::string key_below(const std::string& path, const std::string& name) {
    return path.empty() ? key_text(name) : path + '.' + key_text(name);
}

std::string known_names(const std::vector<std::string>& known) {
    return known.empty() ? "" : "one of " + base::joined(known);
}

bool is_section(const std::string& path) { return std::ranges::count(sections(), path, &Section::name) > 0; }

bool has_word(std::string_view words, std::string_view word) {
    const std::string padded = ' ' + std::string(words) + ' ';
    return padded.find(' ' + std::string(word) + ' ') != std::string::npos;
}

// The key that was probably meant by `name` in section `path`, or empty.
std::string meant(const std::string& path, const std::string& name, bool per_layer) {
    std::vector<std::string> siblings, all;
    std::string elsewhere;
    for (const auto& section : sections()) {
        for (const auto& field : section.fields) {
            if (per_layer && !field.notes.per_layer) continue;
            const std::string leaf = field.key.substr(section.name.size() + 1);
            const bool other_name = has_word(field.notes.also, name);
            if (section.name == path && other_name) return field.key;
            if (section.name == path) siblings.push_back(leaf);
            if (path.empty() && (siblings.empty() || siblings.back() != section.name))
                siblings.emplace_back(section.name);
            if (elsewhere.empty() && (leaf == name || other_name)) elsewhere = field.key;
            all.push_back(field.key);
        }
    }
    if (path == model_section && !per_layer) siblings.emplace_back(model_folder_key);
    if (path.empty() && per_layer) siblings.emplace_back("match");
    if (path.empty() && !per_layer)
        siblings.insert(siblings.end(), {"preset", "include", "layer", "arm", "group"});
    if (const auto near = suggest(name, siblings); !near.empty()) return key_below(path, near);
    return elsewhere.empty() ? suggest(key_below(path, name), all) : elsewhere;
}

class Reader {
public:
    Reader(const TextSource& source, const OptionSchemas* schemas, Reading& reading)
        : source_(source), schemas_(schemas), reading_(reading) {
        complain_ = [this](const Node& node, const std::string& key, const std::string& expected,
                           const std::string& hint) {
            report(node.place, key, "got " + describe(node), expected, hint);
        };
    }

    void read(const Node& root) {
        for (const auto& node : root.children) {
            if (node.name == "preset" || node.name == "include") continue;
            if (node.name == "layer")
                read_rules(node);
            else if (node.name == "arm")
                read_arms(node);
            else if (node.name == group_path)
                read_groups(node);
            else
                read_member(node, "", reading_.assignments, false);
        }
    }

private:
    using Assignments = std::vector<Assignment>;

    Origin origin_at(Place place) const {
        Origin origin = source_.origin;
        origin.line = place.line;
        origin.column = place.column;
        return origin;
    }

    bool full() const { return reading_.problems.size() >= most_problems; }

    void report(Place place, const std::string& key, std::string message, std::string expected = {},
                std::string hint = {}) {
        if (full())
            ++reading_.untold;
        else
            reading_.problems.push_back(
                problem_at(source_, place, key, std::move(message), std::move(expected), std::move(hint)));
    }

    // `node` is a member of the section `path` (of the file itself: empty); `in_rule`: of a [[layer]].
    void read_member(const Node& node, const std::string& path, Assignments& target, bool in_rule) {
        const std::string key = key_below(path, node.name);
        if (path == model_section && node.name == model_folder_key && !in_rule) return;
        const auto kind = kind_of_options(key);
        const Field* field = find_field(key);
        const bool for_all_layers =
            (kind && !facts_of(*kind).per_layer) || (field != nullptr && !field->notes.per_layer);
        if (in_rule && for_all_layers)
            return report(node.name_place, key, "cannot differ from layer to layer");
        if (key == source_path && !in_rule) return read_sources(node);
        if (kind) return read_components(node, *kind, key, target);
        if (field != nullptr) return read_value(node, *field, target);
        if (const auto* renamed = find_renamed(key)) return read_renamed(node, key, *renamed, target);
        if (!is_section(key)) return unknown(node, path, key, in_rule);
        if (node.kind == Node::Kind::table) {
            for (const auto& child : node.children) read_member(child, key, target, in_rule);
        } else {
            const bool slot = find_field(key + ".backend") != nullptr;
            report(node.place, key, "got " + describe(node), "a section with keys",
                   did_you_mean(slot ? key + ".backend" : ""));
        }
    }

    void read_renamed(const Node& node, const std::string& key, const Field& field, Assignments& target) {
        if (source_.recorded) return read_value(node, field, target);
        reading_.doubtful.insert(field.key);
        report(node.name_place, key, "is called " + field.key + " now");
    }

    void unknown(const Node& node, const std::string& path, const std::string& key, bool in_rule) {
        const std::string near = full() ? "" : meant(path, node.name, in_rule);
        if (!near.empty()) reading_.doubtful.insert(near);
        report(node.name_place, key, node.kind == Node::Kind::table ? "unknown section" : "unknown key", {},
               near.empty() ? "`switchyard config schema` lists all keys" : did_you_mean(near));
    }

    void read_value(const Node& node, const Field& field, Assignments& target) {
        // Runs of earlier versions may name another label than the data have; it is always theirs.
        if (source_.recorded && field.key == "loss.ignore_index") return;
        auto value = check_value(field, node, field.key, complain_);
        if (!value) {
            reading_.doubtful.insert(field.key);
            return;
        }
        if (field.notes.path) make_absolute(*value);
        if (field.notes.program) make_program_absolute(std::get<std::vector<std::string>>(*value));
        target.push_back({field.key, {}, {}, std::move(*value), origin_at(node.name_place)});
    }

    void make_absolute(std::string& path) const {
        namespace fs = std::filesystem;
        if (!path.empty()) path = (fs::current_path() / source_.directory / path).lexically_normal().string();
    }

    void make_absolute(Value& value) const {
        if (auto* path = std::get_if<std::string>(&value)) return make_absolute(*path);
        for (auto& path : std::get<std::vector<std::string>>(value)) make_absolute(path);
    }

    // What has no slash is searched for in PATH.
    void make_program_absolute(std::vector<std::string>& words) const {
        if (!words.empty() && words.front().find('/') != std::string::npos) make_absolute(words.front());
    }

    void read_components(const Node& node, Kind kind, const std::string& key, Assignments& target) {
        if (node.kind != Node::Kind::table)
            return report(node.place, key, "got " + describe(node), "a table for each component");
        for (const auto& component : node.children) {
            const std::string path = key_below(key, component.name);
            if (component.kind != Node::Kind::table) {
                report(component.place, path, "got " + describe(component),
                       "a table of options of the component " + component.name);
                continue;
            }
            if (component.name.empty()) {  // an Assignment without a component is none of an option
                report(component.name_place, path, "has no name", "a table for each component");
                continue;
            }
            const OptionSchema* schema = schemas_ == nullptr ? nullptr : find_schema(component, kind, path);
            if (schemas_ != nullptr && schema == nullptr) continue;
            for (const auto& option : component.children) {
                const auto spec = schema == nullptr ? spec_as_written(option)
                                                    : find_spec(option, component.name, *schema, path);
                auto value =
                    spec ? check_value(*spec, option, key_below(path, option.name), complain_) : std::nullopt;
                if (value)
                    target.push_back(
                        {key, component.name, option.name, std::move(*value), origin_at(option.name_place)});
            }
        }
    }

    // nullptr after a complaint.
    const OptionSchema* find_schema(const Node& component, Kind kind, const std::string& path) {
        std::vector<std::string> known, full_names;
        for (const auto& [owner, schema] : *schemas_) {
            if (owner.first != kind) continue;
            if (component.name == owner.second || component.name == schema.full_name) return &schema.options;
            known.push_back(owner.second);
            full_names.push_back(schema.full_name);
        }
        const auto slash = component.name.find('/');
        const bool full = slash != std::string::npos;
        auto near = suggest(component.name, full ? full_names : known);
        if (near.empty() && full) near = suggest(component.name.substr(slash + 1), known);
        report(component.name_place, path,
               "no plugin has a component of this name for " + std::string(name(kind)), known_names(known),
               did_you_mean(near));
        return nullptr;
    }

    std::optional<ValueSpec> find_spec(const Node& node, const std::string& component,
                                       const OptionSchema& schema, const std::string& path) {
        std::vector<std::string> known;
        for (const auto& spec : schema) {
            if (spec.key == node.name) return spec;
            known.push_back(spec.key);
        }
        report(node.name_place, key_below(path, node.name), component + " has no such option",
               known.empty() ? "none: it has no options" : known_names(known),
               did_you_mean(suggest(node.name, known)));
        return std::nullopt;
    }

    void read_rules(const Node& node) {
        const auto is_table = [](const Node& rule) { return rule.kind == Node::Kind::table; };
        if (node.kind != Node::Kind::array || !std::ranges::all_of(node.children, is_table)) {
            return report(node.place, "layer", "got " + describe(node),
                          "[[layer]] tables, each with `match`");
        }
        for (const auto& table : node.children) read_rule(table);
    }

    void read_rule(const Node& table) {
        LayerRule rule;
        std::optional<Value> pattern;
        const auto match = std::ranges::find(table.children, "match", &Node::name);
        if (match == table.children.end()) {
            report(table.place, "layer.match", "is missing",
                   "the layers that the rule is for, such as \"encoder.0-3\"");
        } else {
            pattern = check_value({.type = ValueType::string}, *match, "layer.match", complain_);
            rule.origin = origin_at(match->place);
        }
        for (const auto& node : table.children) {
            if (node.name != "match") read_member(node, "", rule.values, true);
        }
        if (reading_.rules.size() == most_rules) {
            return report(table.place, "layer", "there are too many rules",
                          "at most " + std::to_string(most_rules));
        }
        if (!pattern) return;
        rule.match = std::get<std::string>(*pattern);
        reading_.rules.push_back(std::move(rule));
    }

    // What the tables of one list have in common.
    template <class Item>
    struct List {
        std::string path;  // "data.source"
        const std::vector<ItemField<Item>>& fields;
        std::string needed;  // the key that each table has
        std::string what;    // that it says
        std::size_t most;
    };

    // Those that come later replace all before them: they are one value.
    template <class Item>
    void read_list(const Node& node, const List<Item>& list, std::vector<Item>& items) {
        const auto is_table = [](const Node& item) { return item.kind == Node::Kind::table; };
        if (node.kind != Node::Kind::array || !std::ranges::all_of(node.children, is_table))
            return report(node.place, list.path, "got " + describe(node),
                          "[[" + list.path + "]] tables, each with `" + list.needed + "`");
        if (node.children.size() > list.most)
            return report(node.place, list.path, "there are too many tables",
                          "at most " + std::to_string(list.most));
        items.clear();
        for (const auto& table : node.children) items.push_back(read_item(table, list));
    }

    template <class Item>
    Item read_item(const Node& table, const List<Item>& list) {
        Item item;
        item.origin = origin_at(table.place);
        std::vector<std::string> known;
        for (const auto& field : list.fields) known.push_back(field.key);
        for (const auto& node : table.children) {
            const auto key = key_below(list.path, node.name);
            const auto field = std::ranges::find(list.fields, node.name, &ItemField<Item>::key);
            if (field == list.fields.end()) {
                report(node.name_place, key, "unknown key", known_names(known),
                       did_you_mean(suggest(node.name, known)));
                continue;
            }
            auto value = check_value(*field, node, key, complain_);
            if (!value) {
                reading_.doubtful.insert(list.path);
                continue;
            }
            if (field->path) make_absolute(*value);
            field->set(item, *value);
        }
        if (std::ranges::count(table.children, list.needed, &Node::name) == 0) {
            reading_.doubtful.insert(list.path);
            report(table.place, list.path + "." + list.needed, "is missing", list.what);
        }
        return item;
    }

    void read_sources(const Node& node) {
        const List<SourceConfig> list{std::string(source_path), source_fields(), "files",
                                      "the files that the source is read from", most_sources};
        read_list(node, list, reading_.sources);
    }

    void read_groups(const Node& node) {
        const List<GroupConfig> list{std::string(group_path), group_fields(), "match",
                                     "names of parameters, such as \"encoder.0.*\"", most_groups};
        read_list(node, list, reading_.groups);
    }

    void read_arms(const Node& node) {
        const auto is_table = [](const Node& arm) { return arm.kind == Node::Kind::table; };
        if (node.kind != Node::Kind::array || !std::ranges::all_of(node.children, is_table)) {
            return report(node.place, "arm", "got " + describe(node),
                          "[[arm]] tables, each with `set` or `program`");
        }
        for (const auto& table : node.children) read_arm(table);
    }

    void read_arm(const Node& table) {
        ArmConfig arm;
        arm.origin = origin_at(table.place);
        arm.folder = (std::filesystem::current_path() / source_.directory).lexically_normal().string();
        bool set = false;
        for (const auto& node : table.children) {
            const std::string key = "arm." + key_text(node.name);
            std::vector<std::string>* const words = node.name == "set"       ? &arm.set
                                                    : node.name == "program" ? &arm.program
                                                                             : nullptr;
            if (words == nullptr && node.name != "name") {
                report(node.name_place, key, "unknown key", "name, set or program",
                       did_you_mean(suggest(node.name, {"name", "set", "program"})));
                continue;
            }
            const auto type = words != nullptr ? ValueType::list : ValueType::string;
            auto value = check_value({.type = type}, node, key, complain_);
            if (!value) continue;
            if (words == nullptr)
                arm.name = std::get<std::string>(*value);
            else
                *words = std::get<std::vector<std::string>>(*value);
            set = set || node.name == "set";
            const bool no_program = node.name == "program" && (words->empty() || words->front().empty());
            if (no_program) report(node.place, key, "is empty", "a program and its arguments");
        }
        if (set && !arm.program.empty())
            report(table.place, "arm", "has both `set` and `program`",
                   "one of them: a program takes its settings from its own arguments");
        if (reading_.arms.size() == most_arms)
            return report(table.place, "arm", "there are too many arms",
                          "at most " + std::to_string(most_arms));
        reading_.arms.push_back(std::move(arm));
    }

    const TextSource& source_;
    const OptionSchemas* schemas_;
    Reading& reading_;
    Complain complain_;
};

}  // namespace

std::string full_key(const Assignment& assignment) {
    if (assignment.component.empty()) return assignment.key;
    return key_below(key_below(assignment.key, assignment.component), assignment.option);
}

Problem problem_at(const TextSource& source, Place place, std::string key, std::string message,
                   std::string expected, std::string hint) {
    constexpr std::size_t longest_key = 160;
    if (key.size() > longest_key) key = key.substr(0, longest_key) + "...";
    return {source.file,        place.line,          place.column,   std::move(key),
            std::move(message), std::move(expected), std::move(hint)};
}

void read_tree(const Node& root, const TextSource& source, const OptionSchemas* schemas, Reading& reading) {
    Reader(source, schemas, reading).read(root);
}

}  // namespace switchyard::config

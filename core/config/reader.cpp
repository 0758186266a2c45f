#include <switchyard/config/reader.h>

#include <algorithm>
#include <filesystem>

#include <switchyard/config/check_value.h>
#include <switchyard/config/guard_text.h>
#include <switchyard/config/suggest.h>
#include <switchyard/config/table.h>

namespace switchyard::config {
namespace {

std::string joined(const std::string& path, const std::string& name) {
    return path.empty() ? key_text(name) : path + '.' + key_text(name);
}

bool is_section(const std::string& path, bool per_layer) {
    for (const auto& section : sections()) {
        const bool reached = section.name == path &&
                             (!per_layer || std::any_of(section.fields.begin(), section.fields.end(),
                                                        [](const Field& field) { return field.per_layer; }));
        if (reached) return true;
    }
    return false;
}

bool has_word(std::string_view words, std::string_view word) {
    const std::string padded = ' ' + std::string(words) + ' ';
    return padded.find(' ' + std::string(word) + ' ') != std::string::npos;
}

// The key that was probably meant by `name` in section `path`, or empty.
std::string meant(const std::string& path, const std::string& name, bool per_layer) {
    std::vector<std::string> siblings, all;
    std::string other_name_here, elsewhere;
    for (const auto& section : sections()) {
        if (path.empty() && is_section(std::string(section.name), per_layer))
            siblings.emplace_back(section.name);
        for (const auto& field : section.fields) {
            if (per_layer && !field.per_layer) continue;
            const std::string leaf = field.key.substr(section.name.size() + 1);
            if (section.name == path) siblings.push_back(leaf);
            if (section.name == path && has_word(field.also, name)) other_name_here = field.key;
            if (elsewhere.empty() && (leaf == name || has_word(field.also, name))) elsewhere = field.key;
            all.push_back(field.key);
        }
    }
    if (path.empty() && !per_layer)
        siblings.insert(siblings.end(), std::begin(directives), std::end(directives));
    if (path.empty() && per_layer) siblings.emplace_back("match");
    if (!other_name_here.empty()) return other_name_here;
    if (const auto near = suggest(name, siblings); !near.empty()) return joined(path, near);
    if (!elsewhere.empty()) return elsewhere;
    return suggest(joined(path, name), all);
}

class Reader {
public:
    Reader(const Document& document, const TextSource& source, const OptionSchemas* schemas, Reading& reading)
        : source_(source), schemas_(schemas), reading_(reading), reliable_lines_(document.reliable_lines) {
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
            else
                read_member(node, "", nullptr);
        }
    }

private:
    Origin origin_at(Place place) const {
        Origin origin = source_.origin;
        origin.line = place.line;
        origin.column = place.column;
        return origin;
    }

    void report(Place place, const std::string& key, std::string message, std::string expected = {},
                std::string hint = {}) {
        if (reading_.problems.size() >= most_problems) {
            ++reading_.untold;
            return;
        }
        reading_.problems.push_back(
            problem_at(source_, place, key, std::move(message), std::move(expected), std::move(hint)));
    }

    void read_member(const Node& node, const std::string& path, LayerRule* rule) {
        if (node.name_place.line >= reliable_lines_) return;
        const std::string key = joined(path, node.name);
        const auto kind = kind_of_options(key);
        const Field* field = find_field(key);
        const bool for_all_layers =
            (kind && *kind > Kind::activation) || (field != nullptr && !field->per_layer);
        if (rule != nullptr && for_all_layers) {
            return report(node.name_place, key, "cannot differ from layer to layer");
        }
        if (kind) return read_components(node, *kind, key, rule);
        if (field != nullptr) return read_value(node, *field, rule);
        if (!is_section(key, false)) return unknown(node, path, key, rule != nullptr);
        if (node.kind != Node::Kind::table) {
            return report(node.place, key, "got " + describe(node), "a section with keys",
                          find_field(key + ".backend") != nullptr ? "did you mean " + key + ".backend?" : "");
        }
        for (const auto& child : node.children) read_member(child, key, rule);
    }

    void unknown(const Node& node, const std::string& path, const std::string& key, bool per_layer) {
        const bool told = reading_.problems.size() < most_problems;
        const std::string near = told ? meant(path, node.name, per_layer) : "";
        if (!near.empty()) reading_.doubtful.insert(near);
        report(node.name_place, key, node.kind == Node::Kind::table ? "unknown section" : "unknown key", {},
               near.empty() ? "`switchyard config schema` lists all keys" : "did you mean " + near + "?");
    }

    void keep(Assignment assignment, LayerRule* rule) {
        (rule != nullptr ? rule->values : reading_.assignments).push_back(std::move(assignment));
    }

    void read_value(const Node& node, const Field& field, LayerRule* rule) {
        auto value = check_value(field.shape, node, field.key, complain_);
        if (!value) {
            reading_.doubtful.insert(field.key);
            return;
        }
        if (field.key == "plugins.paths") make_absolute(*value);
        keep({field.key, {}, {}, std::move(*value), origin_at(node.name_place)}, rule);
    }

    void make_absolute(Value& paths) const {
        namespace fs = std::filesystem;
        for (auto& path : std::get<std::vector<std::string>>(paths)) {
            path = fs::absolute(fs::path(source_.directory) / path).lexically_normal().string();
        }
    }

    void read_components(const Node& node, Kind kind, const std::string& key, LayerRule* rule) {
        if (node.kind != Node::Kind::table)
            return report(node.place, key, "got " + describe(node), "a table for each component");
        for (const auto& component : node.children) {
            const std::string path = joined(key, component.name);
            if (component.kind != Node::Kind::table) {
                report(component.place, path, "got " + describe(component),
                       "a table of options of the component " + component.name);
                continue;
            }
            const OptionSchema* schema = nullptr;
            if (schemas_ != nullptr && !find_schema(component, kind, path, schema)) continue;
            for (const auto& option : component.children)
                read_option(option, component.name, schema, key, rule);
        }
    }

    bool find_schema(const Node& component, Kind kind, const std::string& path, const OptionSchema*& schema) {
        const auto slash = component.name.find('/');
        auto found = schemas_->find({kind, component.name});
        if (found == schemas_->end() && slash != std::string::npos)
            found = schemas_->find({kind, component.name.substr(slash + 1)});
        if (found != schemas_->end()) {
            schema = &found->second;
            return true;
        }
        std::vector<std::string> known;
        std::string list;
        for (const auto& [id, unused] : *schemas_) {
            if (id.first != kind) continue;
            known.push_back(id.second);
            list += (list.empty() ? "" : ", ") + id.second;
        }
        const auto near = suggest(component.name, known);
        report(component.name_place, path,
               "no plugin has a component of this name for " + std::string(name(kind)),
               list.empty() ? "" : "one of " + list, near.empty() ? "" : "did you mean " + near + "?");
        return false;
    }

    void read_option(const Node& node, const std::string& component, const OptionSchema* schema,
                     const std::string& key, LayerRule* rule) {
        const std::string path = joined(joined(key, component), node.name);
        Shape shape = shape_of(node);
        if (schema != nullptr) {
            const auto spec = std::find_if(schema->begin(), schema->end(),
                                           [&](const OptionSpec& s) { return s.name == node.name; });
            if (spec == schema->end()) return unknown_option(node, component, *schema, path);
            shape = shape_of(*spec);
        }
        auto value = check_value(shape, node, path, complain_);
        if (value) keep({key, component, node.name, std::move(*value), origin_at(node.name_place)}, rule);
    }

    void unknown_option(const Node& node, const std::string& component, const OptionSchema& schema,
                        const std::string& path) {
        std::vector<std::string> known;
        std::string list;
        for (const auto& spec : schema) {
            known.push_back(spec.name);
            list += (list.empty() ? "" : ", ") + spec.name;
        }
        const auto near = suggest(node.name, known);
        report(node.name_place, path, component + " has no such option",
               list.empty() ? "none: it has no options" : "one of " + list,
               near.empty() ? "" : "did you mean " + near + "?");
    }

    void read_rules(const Node& node) {
        if (node.name_place.line >= reliable_lines_) return;
        const bool tables = node.kind == Node::Kind::array &&
                            std::all_of(node.children.begin(), node.children.end(),
                                        [](const Node& n) { return n.kind == Node::Kind::table; });
        if (!tables)
            return report(node.place, "layer", "got " + describe(node),
                          "[[layer]] tables, each with `match`");
        for (const auto& table : node.children) read_rule(table);
    }

    void read_rule(const Node& table) {
        if (table.place.line >= reliable_lines_) return;
        LayerRule rule;
        bool matched = false;
        for (const auto& node : table.children) {
            if (node.name != "match") {
                read_member(node, "", &rule);
                continue;
            }
            matched = true;
            const auto pattern = check_value({.type = Type::text}, node, "layer.match", complain_);
            if (pattern) rule.match = std::get<std::string>(*pattern);
            rule.origin = origin_at(node.place);
        }
        if (!matched)
            report(table.place, "layer.match", "is missing",
                   "the layers that the rule is for, such as \"encoder.0-3\"");
        if (reading_.rules.size() == most_rules) {
            return report(table.place, "layer", "there are too many rules",
                          "at most " + std::to_string(most_rules));
        }
        if (!rule.match.empty()) reading_.rules.push_back(std::move(rule));
    }

    const TextSource& source_;
    const OptionSchemas* schemas_;
    Reading& reading_;
    int reliable_lines_;
    Complain complain_;
};

}  // namespace

std::string full_key(const Assignment& assignment) {
    if (assignment.component.empty()) return assignment.key;
    return joined(joined(assignment.key, assignment.component), assignment.option);
}

Problem problem_at(const TextSource& source, Place place, std::string key, std::string message,
                   std::string expected, std::string hint) {
    constexpr std::size_t longest_key = 160;
    if (key.size() > longest_key) key = key.substr(0, longest_key) + "...";
    const bool in_file = source.origin.source != Origin::Source::override;
    return {source.file,        in_file ? place.line : 0,
            place.column,       std::move(key),
            std::move(message), std::move(expected),
            std::move(hint),    line_for_display(source.text, place.line)};
}

void read_tree(const Document& document, const TextSource& source, const OptionSchemas* schemas,
               Reading& reading) {
    Reader(document, source, schemas, reading).read(document.root);
}

}  // namespace switchyard::config

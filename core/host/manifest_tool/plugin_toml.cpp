#include <switchyard/host/manifest_tool/plugin_toml.h>

#include <algorithm>
#include <cctype>

#include <switchyard/base/joined.h>
#include <switchyard/config/guard_text.h>
#include <switchyard/host/toml_table.h>

namespace switchyard::host {

namespace {

using config::Node;

bool is_class_name(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
}

constexpr TextRule a_class{is_class_name, "the name of a C++ class"};

const std::vector<std::string> option_types{"boolean", "integer", "number", "string", "list"};

std::optional<OptionValue> read_default(const Node& node, OptionType type) {
    const auto* boolean = std::get_if<bool>(&node.scalar);
    const auto* integer = std::get_if<std::int64_t>(&node.scalar);
    const auto* number = std::get_if<double>(&node.scalar);
    const auto* text = std::get_if<std::string>(&node.scalar);
    if (type == OptionType::boolean && boolean != nullptr) return *boolean;
    if (type == OptionType::integer && integer != nullptr) return *integer;
    if (type == OptionType::number && integer != nullptr) return static_cast<double>(*integer);
    if (type == OptionType::number && number != nullptr) return *number;
    if (type == OptionType::string && text != nullptr) return *text;
    if (type != OptionType::list || node.kind != Node::Kind::array) return std::nullopt;
    std::vector<std::string> members;
    for (const Node& child : node.children) {
        const auto* member = std::get_if<std::string>(&child.scalar);
        if (member == nullptr) return std::nullopt;
        members.push_back(*member);
    }
    return members;
}

void check_default(TomlTable& table, const Node& node, const OptionSpec& spec) {
    const auto number =
        std::holds_alternative<std::int64_t>(spec.default_value)
            ? std::optional<double>(static_cast<double>(std::get<std::int64_t>(spec.default_value)))
        : std::holds_alternative<double>(spec.default_value)
            ? std::optional(std::get<double>(spec.default_value))
            : std::nullopt;
    if (number && spec.min && *number < *spec.min) table.wrong(node, "default", "at least its min");
    if (number && spec.max && *number > *spec.max) table.wrong(node, "default", "at most its max");
    std::vector<std::string> words;
    if (const auto* text = std::get_if<std::string>(&spec.default_value)) words = {*text};
    if (const auto* list = std::get_if<std::vector<std::string>>(&spec.default_value)) words = *list;
    for (const std::string& word : words) {
        if (spec.choices.empty() ||
            std::find(spec.choices.begin(), spec.choices.end(), word) != spec.choices.end())
            continue;
        table.conflict(node, "default",
                       "has '" + word + "', which is not among its choices " + base::joined(spec.choices));
    }
}

OptionSpec read_option(const Node& node, const std::string& prefix, TomlReport& report) {
    OptionSpec spec;
    spec.name = node.name;
    if (!a_name.holds(node.name))
        report.add(node.name_place, prefix + node.name, "is no name for an option", a_name.expected);
    TomlTable table(node, prefix + node.name + ".", node.name_place, report);
    const auto type_index = table.word("type", option_types);
    std::optional<OptionType> type;
    if (type_index) type = static_cast<OptionType>(*type_index);
    const bool numeric = type == OptionType::integer || type == OptionType::number;
    const bool textual = type == OptionType::string || type == OptionType::list;
    spec.help = table.text("help", a_line);
    spec.min = table.number("min");
    spec.max = table.number("max");
    spec.choices = table.list("choices", a_line);
    for (const char* key : {"min", "max", "choices"}) {
        const Node* given = table.find(key);
        const bool fits = std::string_view(key) == "choices" ? textual : numeric;
        if (type && given != nullptr && !fits)
            table.conflict(
                *given, key,
                "has no meaning for an option of type " + option_types[static_cast<std::size_t>(*type)]);
    }
    if (spec.min && spec.max && *spec.min > *spec.max)
        table.conflict(*table.find("min"), "min", "is larger than max");
    if (const Node* value = table.require("default", "the value that holds where nobody gives one");
        value != nullptr && type) {
        spec.type = *type;
        if (const auto parsed = read_default(*value, *type)) {
            spec.default_value = *parsed;
            check_default(table, *value, spec);
        } else {
            table.wrong(*value, "default",
                        "a value of type " + option_types[static_cast<std::size_t>(*type)]);
        }
    }
    table.finish();
    return spec;
}

void check_gradient(TomlTable& table, const ComponentManifest& component) {
    const bool has_gradient = component.kind != Kind::optimizer && component.kind != Kind::data_loader;
    if (!has_gradient && component.gradient != GradientMode::none) {
        table.conflict(*table.find("gradient"), "gradient",
                       "an " + std::string(name(component.kind)) + " is not differentiated", "leave it out");
    }
}

void read_accuracy(TomlTable& table, ComponentManifest& component) {
    component.accuracy = table.choice<Accuracy>("accuracy", Accuracy::exact).value_or(Accuracy::exact);
    const Node* bound =
        component.accuracy == Accuracy::reduced
            ? table.require("accuracy_bound", "a number: relative root-mean-square error against float64")
            : table.find("accuracy_bound");
    if (bound == nullptr) return;
    component.accuracy_bound = table.number("accuracy_bound").value_or(0.0);
    if (component.accuracy == Accuracy::exact)
        table.conflict(*bound, "accuracy_bound", "is for accuracy = \"reduced\" only");
    else if (!(component.accuracy_bound > 0.0))
        table.wrong(*bound, "accuracy_bound", "a number above 0");
}

void read_component(const Node& node, std::size_t index, PluginToml& plugin, TomlReport& report) {
    const std::string prefix = "component[" + std::to_string(index) + "].";
    TomlTable table(node, prefix, node.place, report);
    ComponentManifest component;
    const auto kind = table.choice<Kind>("kind", std::nullopt);
    component.kind = kind.value_or(Kind::attention);
    component.id = table.text("id", a_name);
    component.summary = table.text("summary", a_line);
    component.variants = table.list("variants", a_name);
    const bool may_lack_gradient = component.kind == Kind::optimizer || component.kind == Kind::data_loader;
    component.gradient =
        table
            .choice<GradientMode>(
                "gradient", may_lack_gradient || !kind ? std::optional(GradientMode::none) : std::nullopt)
            .value_or(GradientMode::none);
    check_gradient(table, component);
    component.random = table.choice<RandomSource>("random", RandomSource::none).value_or(RandomSource::none);
    read_accuracy(table, component);
    component.priority = static_cast<int>(table.integer("priority", 0, 1000, 0));
    if (const Node* options = table.find("options")) {
        if (options->kind != Node::Kind::table)
            table.wrong(*options, "options", "tables [component.options.NAME]");
        for (const Node& option : options->children)
            component.options.push_back(read_option(option, prefix + "options.", report));
    }
    const ComponentSource source{table.text("class", a_class), table.text("header", a_line)};
    table.finish();
    if (kind && !component.id.empty() && plugin.manifest.find(component.kind, component.id) != nullptr) {
        report.add(node.place, prefix + "id",
                   "is '" + component.id + "', as of an earlier component of kind " +
                       std::string(name(component.kind)),
                   "an id that is unique among the plugin's components of that kind");
    }
    plugin.manifest.components.push_back(std::move(component));
    plugin.sources.push_back(source);
}

PluginToml read_root(const Node& root, const std::string& target, TomlReport& report) {
    const config::Place start{1, 1};
    TomlTable table(root, "", start, report);
    PluginToml plugin;
    Manifest& manifest = plugin.manifest;
    manifest.name = table.text("name", a_name);
    manifest.version = table.text("version", a_line);
    manifest.vendor = table.text("vendor", a_line);
    manifest.license = table.text("license", a_line);
    manifest.summary = table.text("summary", a_line);
    manifest.cpu_features = table.list("cpu_features", a_name);
    if (table.find("init") != nullptr)
        plugin.init = {table.text("init", a_class), table.text("init_header", a_line)};
    if (const Node* header = table.find("init_header"); header != nullptr && plugin.init.header.empty()) {
        table.conflict(*header, "init_header", "stands without init");
    }
    if (!target.empty() && !manifest.name.empty() && manifest.name != target) {
        table.wrong(*table.find("name"), "name",
                    "'" + target + "', the name of the CMake target and of the library");
    }
    const Node* components = table.require("component", "at least one [[component]]");
    table.finish();
    if (components == nullptr) return plugin;
    if (components->kind != Node::Kind::array) {
        table.wrong(*components, "component", "[[component]], in double brackets");
        return plugin;
    }
    for (std::size_t i = 0; i < components->children.size(); ++i) {
        const Node& component = components->children[i];
        if (component.kind == Node::Kind::table)
            read_component(component, i, plugin, report);
        else
            table.wrong(component, "component", "[[component]], in double brackets");
    }
    return plugin;
}

}  // namespace

PluginTomlResult read_plugin_toml(const std::string& path, const std::string& target) {
    const config::FileText file = config::read_guarded(path);
    if (!file.problems.empty()) return {std::nullopt, file.problems};
    const config::Document document = config::parse_document(file.text, path);
    if (!document.problems.empty()) return {std::nullopt, document.problems};
    TomlReport report(path, file.text);
    PluginToml plugin = read_root(document.root, target, report);
    auto problems = std::move(report).sorted();
    if (!problems.empty()) return {std::nullopt, std::move(problems)};
    return {std::move(plugin), {}};
}

}  // namespace switchyard::host

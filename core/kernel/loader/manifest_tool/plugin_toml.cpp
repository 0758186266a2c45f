#include "core/kernel/loader/manifest_tool/plugin_toml.h"

#include <algorithm>
#include <cctype>

#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/stable_abi.h>
#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/toml_table.h"
#include "core/kernel/loader/stable_tier.h"

namespace switchyard::loader {

namespace {

using config::Node;

bool is_class_name(const std::string& text) {
    return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
           std::all_of(text.begin(), text.end(),
                       [](unsigned char c) { return std::isalnum(c) || c == '_' || c == ':'; });
}

constexpr config::TextRule a_class{is_class_name, "the name of a C++ class"};

ValueSpec read_option(const Node& node, const std::string& prefix, config::TomlReport& report) {
    ValueSpec spec;
    spec.key = node.name;
    if (!config::a_name.holds(node.name))
        report.add(node.name_place, prefix + node.name, "is not a name for an option",
                   config::a_name.expected);
    config::TomlTable table(node, prefix + node.name + ".", node.name_place, report);
    const auto type = table.choice<ValueType>("type");
    const bool numeric = type == ValueType::integer || type == ValueType::number;
    const bool textual = type == ValueType::string || type == ValueType::list;
    spec.help = table.text("help", config::a_line);
    spec.limits.min = table.number("min");
    spec.limits.max = table.number("max");
    spec.limits.choices = table.list("choices", config::a_line);
    for (const char* key : {"min", "max", "choices"}) {
        const Node* given = table.find(key);
        const bool fits = std::string_view(key) == "choices" ? textual : numeric;
        if (type && given != nullptr && !fits)
            table.conflict(*given, key, "has no meaning for an option of type " + std::string(name(*type)));
    }
    if (spec.limits.min && spec.limits.max && *spec.limits.min > *spec.limits.max)
        table.conflict(*table.find("min"), "min", "is larger than max");
    if (const Node* value = table.require("default", "the value that holds where nobody gives one");
        value != nullptr && type) {
        spec.type = *type;
        const auto checked = table.check(*value, "default", spec);
        if (checked) spec.default_value = *checked;
    }
    table.finish();
    return spec;
}

void check_gradient(config::TomlTable& table, const ComponentManifest& component) {
    if (!facts_of(component.kind).gradient && component.gradient != GradientMode::none) {
        table.conflict(*table.find("gradient"), "gradient",
                       "an " + std::string(name(component.kind)) + " is not differentiated", "leave it out");
    }
}

// There is a formula of its own, which is nobody else's.
void check_custom(config::TomlTable& table, const ComponentManifest& component) {
    if (!may_bring_formulas(component.kind))
        table.conflict(*table.find("custom"), "custom", "is for an activation, a loss or an optimizer only",
                       "leave it out");
    if (component.gradient == GradientMode::recompute)
        table.conflict(*table.find("gradient"), "gradient",
                       "is recompute, but there is no reference of a formula of your own to differentiate",
                       "\"kernel\", \"differentiable\" or \"none\"");
}

void read_accuracy(config::TomlTable& table, ComponentManifest& component) {
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

// A stable plugin has no classes: its functions stand in the table that it exports.
ComponentSource read_source(config::TomlTable& table, Tier tier) {
    if (tier == Tier::native) return {table.text("class", a_class), table.text("header", config::a_line)};
    for (const char* key : {"class", "header"}) {
        if (const Node* given = table.find(key))
            table.conflict(*given, key,
                           "has no meaning in the stable tier, whose plugins export a table of functions",
                           "leave it out");
    }
    return {};
}

void check_tier(config::TomlTable& table, Kind kind, Tier tier) {
    if (tier == Tier::native || in_stable_tier(kind)) return;
    table.wrong(*table.find("kind"), "kind", "normalization, linear, attention or optimizer",
                "the stable tier has no other kinds");
}

void read_component(const Node& node, std::size_t index, PluginToml& plugin, config::TomlReport& report) {
    const std::string prefix = "component[" + std::to_string(index) + "].";
    config::TomlTable table(node, prefix, node.place, report);
    ComponentManifest component;
    const auto kind = table.choice<Kind>("kind", std::nullopt);
    component.kind = kind.value_or(Kind::attention);
    component.id = table.text("id", config::a_name);
    component.summary = table.text("summary", config::a_line);
    component.variants = table.list("variants", config::a_name);
    const bool may_lack_gradient = !facts_of(component.kind).gradient;
    component.gradient =
        table
            .choice<GradientMode>(
                "gradient", may_lack_gradient || !kind ? std::optional(GradientMode::none) : std::nullopt)
            .value_or(GradientMode::none);
    check_gradient(table, component);
    component.random = table.choice<RandomSource>("random", RandomSource::none).value_or(RandomSource::none);
    read_accuracy(table, component);
    if (component.kind == Kind::data_loader)
        component.composition =
            table.choice<Composition>("composition", Composition::reference).value_or(Composition::reference);
    component.custom = table.list("custom", config::a_name);
    if (!component.custom.empty() && kind) check_custom(table, component);
    component.priority = static_cast<int>(table.integer("priority", 0, 1000, 0));
    if (const Node* options = table.find("options")) {
        if (options->kind != Node::Kind::table)
            table.wrong(*options, "options", "tables [component.options.NAME]");
        for (const Node& option : options->children)
            component.options.push_back(read_option(option, prefix + "options.", report));
    }
    if (kind) check_tier(table, *kind, plugin.manifest.tier);
    const ComponentSource source = read_source(table, plugin.manifest.tier);
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

void read_tier(config::TomlTable& table, Manifest& manifest) {
    manifest.tier = table.choice<Tier>("tier", Tier::native).value_or(Tier::native);
    manifest.abi_major =
        manifest.tier == Tier::stable ? SWITCHYARD_STABLE_ABI_MAJOR : int{SWITCHYARD_ABI_MAJOR};
    manifest.abi_minor =
        manifest.tier == Tier::stable ? SWITCHYARD_STABLE_ABI_MINOR : int{SWITCHYARD_ABI_MINOR};
    const Node* minimum = table.find("libtorch_minimum");
    if (minimum == nullptr) return;
    manifest.libtorch_minimum = table.text("libtorch_minimum", config::a_line);
    if (manifest.tier == Tier::native)
        table.conflict(
            *minimum, "libtorch_minimum",
            "is for tier = \"stable\" only: any other plugin needs the LibTorch that it is built with");
    else if (!manifest.libtorch_minimum.empty() && !version_numbers(manifest.libtorch_minimum))
        table.wrong(*minimum, "libtorch_minimum", "a version of LibTorch, as \"2.10\"");
}

PluginToml read_root(const Node& root, const std::string& target, config::TomlReport& report) {
    const config::Place start{1, 1};
    config::TomlTable table(root, "", start, report);
    PluginToml plugin;
    Manifest& manifest = plugin.manifest;
    manifest.name = table.text("name", config::a_name);
    manifest.version = table.text("version", config::a_line);
    manifest.vendor = table.text("vendor", config::a_line);
    manifest.license = table.text("license", config::a_line);
    manifest.summary = table.text("summary", config::a_line);
    manifest.cpu_features = table.list("cpu_features", config::a_name);
    read_tier(table, manifest);
    if (const Node* init = table.find("init"); init != nullptr && manifest.tier == Tier::stable)
        table.conflict(*init, "init", "stands in the table that a stable plugin exports", "leave it out");
    else if (init != nullptr)
        plugin.init = {table.text("init", a_class), table.text("init_header", config::a_line)};
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
    config::TomlReport report(path, file.text);
    PluginToml plugin = read_root(document.root, target, report);
    auto problems = std::move(report).sorted();
    if (!problems.empty()) return {std::nullopt, std::move(problems)};
    return {std::move(plugin), {}};
}

}  // namespace switchyard::loader

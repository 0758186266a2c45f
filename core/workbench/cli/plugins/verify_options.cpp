#include "core/workbench/cli/plugins/verify_options.h"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "core/kernel/config/check_value.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

std::string one_of(const std::set<std::string>& known) {
    return known.empty() ? "none: there are none" : "one of " + joined(known);
}

std::string suggestion(const std::string& word, const std::set<std::string>& known) {
    return config::did_you_mean(config::suggest(word, {known.begin(), known.end()}));
}

}  // namespace

GivenOptions::GivenOptions(const std::vector<std::string>& texts, const Components& components) {
    for (std::size_t i = 0; i < texts.size(); ++i)
        read(texts[i], "--option #" + std::to_string(i + 1), components);
    if (!problems_.empty()) throw Failure(config::render(problems_));
}

void GivenOptions::complain(const std::string& place, const std::string& key, const std::string& message,
                            const std::string& expected, const std::string& hint) {
    config::Problem problem;
    problem.file = place;
    problem.key = key;
    problem.message = message;
    problem.expected = expected;
    problem.hint = hint;
    problems_.push_back(std::move(problem));
}

void GivenOptions::read(const std::string& text, const std::string& place, const Components& components) {
    const auto document = config::parse_override(text, place);
    if (!document.problems.empty()) {
        for (auto problem : document.problems) {
            if (problem.expected.starts_with("KEY=VALUE"))
                problem.expected = "[COMPONENT.]NAME=VALUE, such as chunked.chunk_size=64";
            problems_.push_back(std::move(problem));
        }
        return;
    }
    const auto& key = document.root.children.at(0);
    if (key.kind != config::Node::Kind::table) return take(key, key.name, place, components);
    Components named;
    std::set<std::string> known;
    for (const auto* component : components) {
        known.insert(component->id);
        if (component->id == key.name) named.push_back(component);
    }
    if (named.empty())
        return complain(place, key.name, "none of the components under test is called so", one_of(known),
                        suggestion(key.name, known));
    for (const auto& option : key.children) take(option, key.name + "." + option.name, place, named);
}

// For each of the components that declares it: a name without a component may stand for several.
void GivenOptions::take(const config::Node& option, const std::string& path, const std::string& place,
                        const Components& components) {
    std::set<std::string> known;
    bool declared = false;
    for (const auto* component : components) {
        for (const auto& spec : component->options) {
            known.insert(spec.key);
            if (spec.key != option.name) continue;
            const auto value = config::check_value(
                spec, option, path,
                [&](const config::Node& node, const std::string& key, const std::string& expected,
                    const std::string& hint) {
                    if (!declared) complain(place, key, "got " + config::describe(node), expected, hint);
                });
            declared = true;
            if (!value) continue;
            if (!given_[component].emplace(option.name, *value).second)
                complain(place, path, "is given twice", "", "");
        }
    }
    if (!declared) complain(place, path, "no such option", one_of(known), suggestion(option.name, known));
}

Options GivenOptions::of(const ComponentManifest& component) const {
    Options options = config::default_options(component.options);
    const auto found = given_.find(&component);
    if (found == given_.end()) return options;
    for (const auto& [name, value] : found->second) options.set(name, value);
    return options;
}

std::vector<std::string> GivenOptions::texts_of(const ComponentManifest& component) const {
    std::vector<std::string> texts;
    const auto found = given_.find(&component);
    if (found == given_.end()) return texts;
    for (const auto& [name, value] : found->second) {
        const auto json = std::visit([](const auto& v) { return nlohmann::json(v); }, value);
        texts.push_back(name + "=" + (json.is_string() ? json.get<std::string>() : json.dump()));
    }
    return texts;
}

}  // namespace switchyard::cli

#include "core/workbench/train/parameter_groups.h"

#include <algorithm>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/config/suggest.h"

namespace switchyard::train {
namespace {

// "a.b.c": "a", "a.b", "a.b.c", each with .* behind it but the last.
std::vector<std::string> patterns_of(const std::vector<std::string>& names) {
    std::vector<std::string> all;
    for (const auto& name : names) {
        for (auto dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
            all.push_back(name.substr(0, dot) + ".*");
        all.push_back(name);
    }
    std::ranges::sort(all);
    const auto rest = std::ranges::unique(all);
    all.erase(rest.begin(), rest.end());
    return all;
}

bool is_frozen(const config::Config& config, std::string_view name) {
    const auto* const group = group_of(config, name);
    return group != nullptr && group->frozen;
}

HyperParameters hyper_of(const config::OptimizerConfig& optimizer, bool decay,
                         const config::GroupConfig* group) {
    HyperParameters hyper;
    hyper.lr = optimizer.lr * (group != nullptr ? group->lr_factor : 1.0);
    hyper.beta1 = optimizer.betas[0];
    hyper.beta2 = optimizer.betas[1];
    hyper.eps = optimizer.eps;
    hyper.weight_decay =
        decay ? optimizer.weight_decay * (group != nullptr ? group->weight_decay_factor : 1.0) : 0.0;
    hyper.momentum = optimizer.momentum;
    hyper.nesterov = optimizer.nesterov;
    return hyper;
}

}  // namespace

// One star is tried at a time: where what follows it does not fit, it takes one character more.
bool matches(std::string_view pattern, std::string_view name) {
    std::size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.size() && pattern[p] == name[n]) {
            ++p, ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

std::vector<std::string> group_problems(const config::Config& config, const std::vector<std::string>& names) {
    std::vector<std::string> problems;
    for (const auto& group : config.groups) {
        for (const auto& pattern : group.match) {
            const auto fits = [&](const std::string& name) { return matches(pattern, name); };
            if (std::ranges::any_of(names, fits)) continue;
            const auto near = config::suggest(pattern, patterns_of(names));
            problems.push_back(config::to_string(group.origin) + ": error: group.match: \"" + pattern +
                               "\" is the name of no parameter; " +
                               (near.empty() ? "expected one such as \"" + names.front() + "\""
                                             : config::did_you_mean("\"" + near + "\"")));
        }
    }
    const auto frozen = [&](const std::string& name) { return is_frozen(config, name); };
    if (problems.empty() && !config.groups.empty() && std::ranges::all_of(names, frozen))
        problems.push_back(config::to_string(config.groups.front().origin) +
                           ": error: group.frozen: all parameters are frozen; expected some to train");
    return problems;
}

const config::GroupConfig* group_of(const config::Config& config, std::string_view name) {
    const config::GroupConfig* found = nullptr;
    for (const auto& group : config.groups) {
        if (std::ranges::any_of(group.match, [&](const auto& pattern) { return matches(pattern, name); }))
            found = &group;
    }
    return found;
}

void freeze(const config::Config& config, const model::Parameters& parameters) {
    for (const auto& parameter : parameters.all())
        if (is_frozen(config, parameter.name)) parameter.value.requires_grad_(false);
}

std::vector<ParameterGroup> optimizer_groups(const config::Config& config,
                                             const model::Parameters& parameters) {
    std::vector<const config::GroupConfig*> all{nullptr};
    for (const auto& group : config.groups) all.push_back(&group);
    std::vector<ParameterGroup> groups;
    for (const auto* const of : all) {
        for (const bool decay : {true, false}) {
            ParameterGroup group;
            group.name = (of != nullptr ? base::joined(of->match) + ", " : std::string()) +
                         (decay ? "decayed" : "not decayed");
            group.hyper = hyper_of(config.optimizer, decay, of);
            for (const auto& parameter : parameters.all()) {
                if (parameter.decay != decay || group_of(config, parameter.name) != of) continue;
                if (!parameter.value.requires_grad()) continue;
                Parameter entry;
                entry.name = parameter.name;
                entry.value = parameter.value;
                if (parameter.value.element_size() < 4)
                    entry.master = parameter.value.detach().to(at::kFloat);
                group.parameters.push_back(std::move(entry));
            }
            if (!group.parameters.empty()) groups.push_back(std::move(group));
        }
    }
    return groups;
}

}  // namespace switchyard::train

#include "core/kernel/resolver/names.h"

#include <algorithm>
#include <span>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/resolver/field_keys.h"
#include "core/kernel/resolver/request_fields.h"
#include "core/kernel/resolver/resolver.h"

namespace switchyard::resolver {
namespace {

std::string quoted(const std::string& text) { return '"' + base::quoted(text) + '"'; }

std::vector<std::string> all_names(Kind kind, const std::vector<Candidate>& candidates) {
    std::vector<std::string> list;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind == kind) list.push_back(short_name(candidate, candidates));
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

// The field of a request that says custom, and the key of a configuration that it follows from.
struct OwnFormula {
    std::string_view field, key;
};
OwnFormula what_is_custom(Kind kind, const Request& request) {
    for (const Field& field : fields(kind, request)) {
        if (names_custom(field.value))
            return {field.name, keys_of(kind, request, field.name).front().keys.front()};
    }
    return {};
}

std::string written(const std::string& custom) { return std::string(custom_prefix) + custom; }

std::string unknown(Kind kind, const std::string& text, const BackendName& wanted,
                    const std::vector<Candidate>& candidates) {
    const std::string what(name(kind));
    std::vector<std::string> known = all_names(kind, candidates);
    if (known.empty())
        return "none of the plugins found has a component for " + what + "; see `switchyard plugins doctor`";
    std::string message = "there is no " + what + " called " + quoted(text);
    std::vector<std::string> spellings = known, of_plugin;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind != kind) continue;
        spellings.push_back(candidate.full_name());
        if (candidate.plugin == (wanted.plugin.empty() ? wanted.component : wanted.plugin))
            of_plugin.push_back(candidate.full_name());
    }
    const auto base = wanted.plugin.empty() ? wanted.component : wanted.plugin + "/" + wanted.component;
    const auto near = config::suggest(base, spellings);
    if (!of_plugin.empty()) return message + "; that plugin has " + base::joined(of_plugin);
    if (!near.empty()) message += "; did you mean " + quoted(near) + "?";
    return message + (near.empty() ? "; there are: " : " There are: ") + base::joined(known);
}

std::string unknown_variant(const Candidate& candidate, const std::string& variant) {
    const auto& variants = candidate.manifest.variants;
    const std::string message = candidate.full_name() + " has no variant " + quoted(variant);
    if (variants.empty()) return message + ": it has none";
    const auto near = config::suggest(variant, variants);
    return message + (near.empty() ? "" : "; did you mean " + quoted(near) + "?") +
           (near.empty() ? "; it has: " : " It has: ") + base::joined(variants);
}

}  // namespace

BackendName parse_backend(const std::string& text) {
    BackendName parsed;
    auto rest = text;
    if (const auto slash = rest.find('/'); slash != std::string::npos) {
        parsed.plugin = rest.substr(0, slash);
        rest = rest.substr(slash + 1);
    }
    const auto at = rest.find('@');
    parsed.component = rest.substr(0, at);
    if (at != std::string::npos) parsed.variant = rest.substr(at + 1);
    return parsed;
}

std::string short_name(const Candidate& candidate, const std::vector<Candidate>& candidates) {
    const auto same = std::count_if(candidates.begin(), candidates.end(), [&](const Candidate& other) {
        return other.manifest.kind == candidate.manifest.kind && other.manifest.id == candidate.manifest.id &&
               (other.usable || &other == &candidate);
    });
    return same > 1 ? candidate.full_name() : candidate.manifest.id;
}

Named find_named(Kind kind, const std::string& text, const std::vector<Candidate>& candidates) {
    const auto wanted = parse_backend(text);
    std::vector<const Candidate*> fits;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind != kind || candidate.manifest.id != wanted.component) continue;
        if (wanted.plugin.empty() || wanted.plugin == candidate.plugin) fits.push_back(&candidate);
    }
    // A plugin that failed a gate does not make a name ambiguous, but it is what the name means if nothing
    // else is.
    if (std::any_of(fits.begin(), fits.end(), [](const Candidate* c) { return c->usable; })) {
        std::erase_if(fits, [](const Candidate* c) { return !c->usable; });
    }
    if (fits.empty()) return {nullptr, "", unknown(kind, text, wanted, candidates)};
    std::vector<std::string> full;
    for (const auto* candidate : fits) full.push_back(candidate->full_name());
    full.erase(std::unique(full.begin(), full.end()), full.end());
    if (full.size() > 1)
        return {nullptr, "",
                quoted(text) + " fits " + base::joined(std::span(full).first(full.size() - 1)) + " and " +
                    full.back() + ": write one of them"};
    const auto& variants = fits.front()->manifest.variants;
    if (!wanted.variant.empty() &&
        std::find(variants.begin(), variants.end(), wanted.variant) == variants.end()) {
        return {nullptr, "", unknown_variant(*fits.front(), wanted.variant)};
    }
    return {fits.front(), wanted.variant, ""};
}

std::optional<Reason> refuse_custom(const ComponentManifest& manifest, const Request& request) {
    const auto custom = custom_name(manifest.kind, request);
    if (custom.empty() || std::ranges::count(manifest.custom, custom) > 0) return std::nullopt;
    const auto formula = what_is_custom(manifest.kind, request);
    auto expected = std::string(formula.field) + " without custom:, since it brings none of its own";
    if (!manifest.custom.empty()) expected = written(base::joined(manifest.custom, ", custom:"));
    return Reason{Code::Algorithm, std::string(formula.field), expected, written(custom), ""};
}

std::string unknown_custom(Kind kind, const Request& request, const std::vector<Candidate>& candidates,
                           const std::function<std::string(std::string_view key)>& written_at) {
    const auto custom = custom_name(kind, request);
    if (custom.empty()) return "";
    std::vector<std::string> known, shown;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind != kind) continue;
        for (const auto& own : candidate.manifest.custom) {
            known.push_back(own);
            shown.push_back(written(own) + " (" + candidate.full_name() + ")");
        }
    }
    if (std::ranges::count(known, custom) > 0) return "";
    const auto formula = what_is_custom(kind, request);
    const std::string key(formula.key);
    const auto place = written_at ? written_at(key) : "";
    std::string message = key + " = " + quoted(written(custom)) + (place.empty() ? "" : " (" + place + ")") +
                          ": none of the plugins found brings that " + std::string(formula.field);
    if (shown.empty())
        return message + ", nor any other of its own; see `switchyard plugins doctor` and plugins.paths";
    const auto near = config::suggest(custom, known);
    if (!near.empty()) message += "; did you mean " + quoted(written(near)) + "?";
    return message + (near.empty() ? "; there are: " : " There are: ") + base::joined(shown);
}

}  // namespace switchyard::resolver

#include "core/workbench/cli/plugins/plugins_text.h"

#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/reason_text.h>
#include "core/kernel/resolver/reasons_json.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

// "all", "all but alibi, soft_cap", "causal, key_lengths", "none".
std::string short_text(const loader::ServedValues& of) {
    if (of.refused.empty()) return of.served.size() == 1 ? of.served.front() : "all";
    if (of.served.empty()) return "none";
    const bool few_refused = of.refused.size() <= 3 && of.served.size() > of.refused.size();
    return few_refused ? "all but " + joined(of.refused) : joined(of.served);
}

// Of "also" each is named: it is not known to a reader what all would be.
std::string around_text(const loader::SupportCell& cell) {
    std::vector<std::string> parts;
    for (const auto& of : cell.values) {
        const bool also = of.field == "also";
        if (also && of.served.empty()) continue;
        parts.push_back(of.field + " " + (also ? joined(of.served) : short_text(of)));
    }
    return joined(parts, "; ");
}

Json json_of(const loader::ServedValues& of) {
    return {{"field", of.field}, {"served", of.served}, {"refused", of.refused}};
}

Json json_of(const loader::ComponentProbe& component) {
    Json support = Json::array();
    for (const auto& cell : component.support) {
        Json values = Json::array();
        for (const auto& of : cell.values) values.push_back(json_of(of));
        support.push_back({{"device", std::string(name(cell.device))},
                           {"dtype", std::string(name(cell.dtype))},
                           {"ok", cell.ok},
                           {"host", cell.host},
                           {"serves", cell.serves},
                           {"reasons", resolver::reasons_json(cell.reasons)},
                           {"values", values}});
    }
    return {{"kind", std::string(name(component.kind))},
            {"id", component.id},
            {"ran", component.ran},
            {"failure", component.failure ? Json(loader::to_string(*component.failure)) : Json(nullptr)},
            {"support", support}};
}

void add_around(DeviceSupport& device, const std::string& text, const std::string& dtype) {
    for (auto& [known, dtypes] : device.around) {
        if (known == text) return dtypes.push_back(dtype);
    }
    device.around.emplace_back(text, std::vector{dtype});
}

Json json_of(const loader::GateOutcome& gate) {
    return {{"gate", std::string(name(gate.gate))},
            {"passed", gate.passed},
            {"reason", gate.reason},
            {"expected", gate.expected},
            {"got", gate.got},
            {"hint", gate.hint}};
}

}  // namespace

std::string refused_libraries(const std::vector<loader::PluginRecord>& records) {
    std::string text;
    for (const auto& record : records) {
        if (!record.manifest) text += "\n" + loader::explain(record);
    }
    return text.empty() ? "" : "\nFound, but no candidates for anything:" + text + "\n";
}

std::string state_of(const loader::PluginRecord& record) {
    const auto* failure = record.failure();
    return failure == nullptr ? "usable" : "refused: " + std::string(name(failure->gate));
}

bool is_fault(const loader::PluginRecord& record) {
    const auto* failure = record.failure();
    if (failure != nullptr)
        return failure->gate != loader::Gate::disabled && failure->gate != loader::Gate::duplicate;
    const bool refused = std::any_of(record.trust.begin(), record.trust.end(),
                                     [](const auto& one) { return one.refusal.has_value(); });
    if (refused) return true;
    if (!record.probe) return false;
    const auto& components = record.probe->components;
    return std::any_of(components.begin(), components.end(),
                       [](const auto& c) { return c.failure.has_value(); });
}

std::string components_of(const loader::Manifest& manifest) {
    std::map<Kind, std::vector<std::string>> ids;
    for (const auto& component : manifest.components) ids[component.kind].push_back(component.id);
    std::vector<std::string> texts;
    for (const auto& [kind, list] : ids) {
        const bool as_plugin = list.size() == 1 && list.front() == manifest.name;
        texts.push_back(std::string(name(kind)) + (as_plugin ? "" : " (" + joined(list) + ")"));
    }
    return joined(texts);
}

Json summary_json(const loader::PluginRecord& record) {
    const auto* failure = record.failure();
    Json components = Json::array();
    if (record.manifest) {
        for (const auto& c : record.manifest->components) {
            auto fault = record.component_failure(c.kind, c.id);
            const auto* const trust = record.trust_of(c.kind, c.id);
            if (fault.empty() && trust != nullptr && trust->refusal) fault = trust->refusal->reason;
            components.push_back({{"kind", std::string(name(c.kind))},
                                  {"id", c.id},
                                  {"usable", failure == nullptr && fault.empty()},
                                  {"reason", fault}});
        }
    }
    return {{"name", record.display_name()},
            {"version", record.manifest ? record.manifest->version : ""},
            {"tier", record.manifest ? Json(std::string(name(record.manifest->tier))) : Json(nullptr)},
            {"usable", record.usable()},
            {"gate", failure == nullptr ? Json(nullptr) : Json(std::string(name(failure->gate)))},
            {"reason", failure == nullptr ? "" : failure->reason},
            {"hint", failure == nullptr ? "" : failure->hint},
            {"path", record.path},
            {"origin", record.origin},
            {"components", components}};
}

Json full_json(const loader::PluginRecord& record) {
    Json json = summary_json(record);
    json["gates"] = Json::array();
    for (const auto& gate : record.gates) json["gates"].push_back(json_of(gate));
    json["manifest"] = nullptr;
    if (record.manifest) {
        const auto& m = *record.manifest;
        Json components = Json::array();
        for (const auto& component : m.components) components.push_back(loader::to_json(component));
        json["manifest"] = {{"summary", m.summary},           {"vendor", m.vendor},
                            {"license", m.license},           {"abi", {m.abi_major, m.abi_minor}},
                            {"cpu_features", m.cpu_features}, {"fingerprint", m.fingerprint},
                            {"components", components}};
    }
    json["probe"] = nullptr;
    if (record.probe) {
        Json components = Json::array();
        for (const auto& component : record.probe->components) components.push_back(json_of(component));
        const auto& failure = record.probe->failure;
        json["probe"] = {{"failure", failure ? Json(loader::to_string(*failure)) : Json(nullptr)},
                         {"ms", record.probe->milliseconds},
                         {"from_cache", record.probe->from_cache},
                         {"output", record.probe->output},
                         {"components", components}};
    }
    return json;
}

std::vector<std::string> around_lines(const DeviceSupport& device) {
    std::vector<std::string> lines;
    for (const auto& [text, dtypes] : device.around) {
        if (text.empty()) continue;
        lines.push_back((device.around.size() == 1 ? "" : joined(dtypes) + ": ") + text);
    }
    return lines;
}

std::vector<DeviceSupport> support_of(const loader::ComponentProbe& probe) {
    std::vector<DeviceSupport> devices;
    for (const auto& cell : probe.support) {
        const auto found = std::find_if(devices.begin(), devices.end(), [&](const DeviceSupport& d) {
            return d.device == cell.device && d.host == cell.host;
        });
        auto& device = found == devices.end() ? devices.emplace_back() : *found;
        device.device = cell.device;
        device.host = cell.host;
        const std::string dtype(name(cell.dtype));
        if (cell.ok) device.dtypes[joined(cell.serves)].push_back(dtype);
        if (cell.ok) add_around(device, around_text(cell), dtype);
        for (const auto& reason : cell.reasons) {
            if (!cell.ok) device.refusals.push_back(dtype + ": " + to_text(reason));
        }
    }
    return devices;
}

std::string served_text(const DeviceSupport& device) {
    std::vector<std::string> texts;
    for (const auto& [formulas, dtypes] : device.dtypes) {
        texts.push_back(joined(dtypes) + (formulas.empty() ? "" : " (" + formulas + ")"));
    }
    return joined(texts, "; ");
}

}  // namespace switchyard::cli

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

Json json_of(const loader::ComponentProbe& component) {
    Json support = Json::array();
    for (const auto& cell : component.support) {
        support.push_back({{"device", std::string(name(cell.device))},
                           {"dtype", std::string(name(cell.dtype))},
                           {"ok", cell.ok},
                           {"host", cell.host},
                           {"serves", cell.serves},
                           {"reasons", resolver::reasons_json(cell.reasons)}});
    }
    return {{"kind", std::string(name(component.kind))},
            {"id", component.id},
            {"ran", component.ran},
            {"failure", component.failure ? Json(loader::to_string(*component.failure)) : Json(nullptr)},
            {"support", support}};
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

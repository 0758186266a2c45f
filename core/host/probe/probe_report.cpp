#include <switchyard/host/probe/probe_report.h>

#include <algorithm>

#include <nlohmann/json.hpp>

namespace switchyard::host {

namespace {

using nlohmann::json;

json json_of(const std::optional<ProbeFailure>& failure) {
    if (!failure) return nullptr;
    return {{"phase", name(failure->phase)},
            {"component", failure->component},
            {"text", failure->text},
            {"hint", failure->hint}};
}

json json_of(const SupportCell& cell) {
    json reasons = json::array();
    for (const Reason& reason : cell.reasons) {
        reasons.push_back({{"code", static_cast<int>(reason.code)},
                           {"field", reason.field},
                           {"expected", reason.expected},
                           {"got", reason.got},
                           {"hint", reason.hint}});
    }
    return {{"device", name(cell.device)}, {"dtype", name(cell.dtype)}, {"ok", cell.ok},
            {"host", cell.host},           {"serves", cell.serves},     {"reasons", reasons}};
}

json json_of(const ComponentProbe& component) {
    json support = json::array();
    for (const SupportCell& cell : component.support) support.push_back(json_of(cell));
    return {{"kind", name(component.kind)},
            {"id", component.id},
            {"support", support},
            {"ran", component.ran},
            {"failure", json_of(component.failure)}};
}

template <class Enum>
Enum enum_from(const json& value) {
    return parse<Enum>(value.get_ref<const std::string&>()).value();
}

std::optional<ProbeFailure> failure_from(const json& value) {
    if (value.is_null()) return std::nullopt;
    return ProbeFailure{enum_from<ProbePhase>(value.at("phase")), value.at("component"), value.at("text"),
                        value.at("hint")};
}

SupportCell cell_from(const json& value) {
    SupportCell cell{enum_from<Device>(value.at("device")),
                     enum_from<DType>(value.at("dtype")),
                     value.at("ok"),
                     value.at("host"),
                     value.at("serves"),
                     {}};
    for (const json& reason : value.at("reasons")) {
        cell.reasons.push_back({static_cast<Code>(reason.at("code").get<int>()), reason.at("field"),
                                reason.at("expected"), reason.at("got"), reason.at("hint")});
    }
    return cell;
}

ComponentProbe component_from(const json& value) {
    ComponentProbe component{enum_from<Kind>(value.at("kind")),
                             value.at("id"),
                             {},
                             value.at("ran"),
                             failure_from(value.at("failure"))};
    for (const json& cell : value.at("support")) component.support.push_back(cell_from(cell));
    return component;
}

}  // namespace

std::string to_string(const ProbeFailure& failure) {
    if (failure.phase == ProbePhase::start) return "before anything of it ran: " + failure.text;
    if (failure.phase == ProbePhase::done) return "when the process ended: " + failure.text;
    const std::string of = failure.component.empty() ? "" : " of " + failure.component;
    return "in " + std::string(name(failure.phase)) + of + ": " + failure.text;
}

const ComponentProbe* ProbeReport::find(Kind kind, std::string_view id) const {
    const auto found = std::find_if(
        components.begin(), components.end(),
        [&](const ComponentProbe& component) { return component.kind == kind && component.id == id; });
    return found == components.end() ? nullptr : &*found;
}

std::string to_json(const ProbeReport& report) {
    json components = json::array();
    for (const ComponentProbe& component : report.components) components.push_back(json_of(component));
    const json value = {{"failure", json_of(report.failure)},
                        {"components", components},
                        {"milliseconds", report.milliseconds},
                        {"output", report.output}};
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ProbeReport> parse_probe_report(std::string_view text) {
    try {
        const json value = json::parse(text);
        ProbeReport report;
        report.failure = failure_from(value.at("failure"));
        for (const json& component : value.at("components"))
            report.components.push_back(component_from(component));
        report.milliseconds = value.at("milliseconds");
        report.output = value.at("output");
        return report;
    } catch (const std::exception&) {  // a damaged file of the cache, or a plugin that wrote into the pipe
        return std::nullopt;
    }
}

}  // namespace switchyard::host

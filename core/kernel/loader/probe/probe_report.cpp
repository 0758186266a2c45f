#include "core/kernel/loader/probe/probe_report.h"

#include <algorithm>
#include <limits>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"

namespace switchyard::loader {

namespace {

using base::Json;
using base::needed_flag;
using base::needed_integer;
using base::needed_list;
using base::needed_text;

Json json_of(const std::optional<ProbeFailure>& failure) {
    if (!failure) return nullptr;
    return {{"phase", name(failure->phase)},
            {"component", failure->component},
            {"text", failure->text},
            {"hint", failure->hint}};
}

Json json_of(const SupportCell& cell) {
    Json reasons = Json::array();
    for (const Reason& reason : cell.reasons) {
        reasons.push_back({{"code", static_cast<int>(reason.code)},
                           {"field", reason.field},
                           {"expected", reason.expected},
                           {"got", reason.got},
                           {"hint", reason.hint}});
    }
    Json values = Json::array();
    for (const ServedValues& of : cell.values)
        values.push_back({{"field", of.field}, {"served", of.served}, {"refused", of.refused}});
    return {
        {"device", name(cell.device)}, {"dtype", name(cell.dtype)}, {"ok", cell.ok},   {"host", cell.host},
        {"serves", cell.serves},       {"reasons", reasons},        {"values", values}};
}

Json json_of(const ComponentProbe& component) {
    Json support = Json::array();
    for (const SupportCell& cell : component.support) support.push_back(json_of(cell));
    return {{"kind", name(component.kind)},
            {"id", component.id},
            {"support", support},
            {"ran", component.ran},
            {"failure", json_of(component.failure)}};
}

template <class Enum>
Enum needed_enum(const Json& object, const char* key) {
    const auto value = parse<Enum>(needed_text(object, key));
    if (!value) throw base::InputError("\"" + std::string(key) + "\" is unknown");
    return *value;
}

std::optional<ProbeFailure> failure_from(const Json& value) {
    if (value.is_null()) return std::nullopt;
    return ProbeFailure{needed_enum<ProbePhase>(value, "phase"), needed_text(value, "component"),
                        needed_text(value, "text"), needed_text(value, "hint")};
}

Code code_from(const Json& reason) {
    const auto code = needed_integer(reason, "code");
    if (code < 0 || code > std::numeric_limits<int>::max()) throw base::InputError("\"code\" is none");
    return static_cast<Code>(code);
}

std::vector<std::string> needed_texts(const Json& object, const char* key) {
    std::vector<std::string> texts;
    for (const Json& text : needed_list(object, key)) {
        if (!text.is_string())
            throw base::InputError("\"" + std::string(key) + "\" has a value that is not a string");
        texts.push_back(text.get<std::string>());
    }
    return texts;
}

SupportCell cell_from(const Json& value) {
    SupportCell cell;
    cell.device = needed_enum<Device>(value, "device");
    cell.dtype = needed_enum<DType>(value, "dtype");
    cell.ok = needed_flag(value, "ok");
    cell.host = needed_text(value, "host");
    cell.serves = needed_texts(value, "serves");
    for (const Json& reason : needed_list(value, "reasons")) {
        cell.reasons.push_back({code_from(reason), needed_text(reason, "field"),
                                needed_text(reason, "expected"), needed_text(reason, "got"),
                                needed_text(reason, "hint")});
    }
    for (const Json& of : needed_list(value, "values"))
        cell.values.push_back(
            {needed_text(of, "field"), needed_texts(of, "served"), needed_texts(of, "refused")});
    return cell;
}

ComponentProbe component_from(const Json& value) {
    ComponentProbe component{needed_enum<Kind>(value, "kind"),
                             needed_text(value, "id"),
                             {},
                             needed_flag(value, "ran"),
                             failure_from(base::needed(value, "failure"))};
    for (const Json& cell : needed_list(value, "support")) component.support.push_back(cell_from(cell));
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
    Json components = Json::array();
    for (const ComponentProbe& component : report.components) components.push_back(json_of(component));
    const Json value = {{"failure", json_of(report.failure)},
                        {"components", components},
                        {"files", report.files},
                        {"milliseconds", report.milliseconds},
                        {"output", report.output}};
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<ProbeReport> parse_probe_report(std::string_view text) {
    try {
        const Json value = base::parse_json(text).value;
        ProbeReport report;
        report.failure = failure_from(base::needed(value, "failure"));
        for (const Json& component : needed_list(value, "components"))
            report.components.push_back(component_from(component));
        const Json& files = base::needed(value, "files");
        if (!files.is_object()) throw base::InputError("\"files\" is not an object");
        for (const auto& [path, identity] : files.items()) {
            if (!identity.is_string()) throw base::InputError("\"files\" has a value that is not a string");
            report.files[path] = identity.get<std::string>();
        }
        report.milliseconds = needed_integer(value, "milliseconds");
        report.output = needed_text(value, "output");
        return report;
    } catch (const base::InputError&) {  // a damaged file of the cache, or a plugin that wrote into the pipe
        return std::nullopt;
    }
}

}  // namespace switchyard::loader

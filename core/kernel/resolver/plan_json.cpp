#include "core/kernel/resolver/plan_json.h"

#include <nlohmann/json.hpp>

#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/reasons_json.h"
#include "core/kernel/resolver/request_fields.h"

namespace switchyard::resolver {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const FieldValue& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
    if (const auto* real = std::get_if<double>(&value)) return *real;
    if (const auto* range = std::get_if<Range>(&value)) return Json::array({range->min, range->max});
    if (const auto* masks = std::get_if<MaskSet>(&value)) return names_of(*masks);
    return to_text(value);
}

Json json_of(Kind kind, const Request& request) {
    Json object = Json::object();
    for (const auto& field : fields(kind, request)) object[std::string(field.name)] = json_of(field.value);
    return object;
}

Json json_of(Kind kind, const Chosen& chosen) {
    return {{"component", chosen.component},
            {"plugin", chosen.plugin},
            {"variant", chosen.variant},
            {"version", chosen.version},
            {"library", chosen.library_path},
            {"content_hash", chosen.content_hash},
            {"options", to_json(chosen.options)},
            {"composed", chosen.composed},
            {"accuracy", std::string(name(chosen.accuracy))},
            {"accuracy_bound", chosen.accuracy_bound},
            {"verification", std::string(name(chosen.verification))},
            {"request", json_of(kind, *chosen.request)}};
}

Json json_of(const CandidateOutcome& outcome) {
    return {{"component", outcome.component},
            {"plugin", outcome.plugin},
            {"version", outcome.version},
            {"variant", outcome.variant},
            {"priority", outcome.priority},
            {"ok", outcome.ok},
            {"why_not", outcome.why_not},
            {"reasons", reasons_json(outcome.reasons)},
            {"nearest", outcome.nearest ? Json(*outcome.nearest) : Json(nullptr)},
            {"composed", outcome.composed}};
}

Json json_of(const PlanRow& row) {
    Json candidates = Json::array();
    for (const auto& outcome : row.candidates) candidates.push_back(json_of(outcome));
    return {{"slot", row.use.slot},
            {"kind", std::string(name(row.use.kind))},
            {"layers", row.use.layers},
            {"phase", std::string(name(row.use.phase))},
            {"backend", row.use.config.backend},
            {"from", config::to_string(row.use.origin)},
            {"how", row.how},
            {"measured", row.measured ? to_json(*row.measured) : Json(nullptr)},
            {"chosen", row.chosen ? json_of(row.use.kind, *row.chosen) : Json(nullptr)},
            {"error", row.error.empty() ? Json(nullptr) : Json(row.error)},
            {"notes", row.notes},
            {"warnings", row.warnings},
            {"request", json_of(row.use.kind, *row.use.request)},
            {"request_in_words", in_words(row.use.kind, *row.use.request)},
            {"candidates", candidates}};
}

Json json_of(const HostInfo& host) {
    Json devices = Json::array();
    for (const auto& device : host.devices) {
        devices.push_back({{"device", std::string(name(device.device))},
                           {"name", device.name},
                           {"compute_capability", device.compute_capability},
                           {"memory_bytes", device.memory_bytes}});
    }
    return {{"name", host.name},   {"described", host.described},       {"cpu_model", host.cpu_model},
            {"cores", host.cores}, {"libtorch", host.libtorch_version}, {"devices", devices}};
}

}  // namespace

Json to_json(const Options& options) {
    Json object = Json::object();
    for (const auto& [key, value] : options.values()) {
        object[key] = std::visit([](const auto& v) { return Json(v); }, value);
    }
    return object;
}

Json to_json(const Plan& plan) {
    Json slots = Json::array();
    for (const auto& row : plan.rows) slots.push_back(json_of(row));
    Json json{{"ok", plan.ok()}, {"host", json_of(plan.host)}, {"slots", slots}};
    for (const auto& row : plan.shadows) {
        auto shadow = json_of(row);
        shadow["every"] = row.use.config.shadow.every;
        json["shadows"].push_back(std::move(shadow));
    }
    return json;
}

}  // namespace switchyard::resolver

#include "core/workbench/cli/train/shadow_text.h"

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using nlohmann::ordered_json;

ordered_json drifts_json(const train::CallDrifts& drifts) {
    if (drifts.means.empty()) return nullptr;
    return {{"calls", drifts.means.size()}, {"median", bench::median(drifts.means)},
            {"largest", drifts.largest},    {"step", drifts.step},
            {"layer", drifts.layer},        {"tensor", drifts.tensor}};
}

ordered_json faults_json(const train::ShadowFaults& faults) {
    ordered_json json{{"calls", faults.calls}, {"first", nullptr}};
    if (faults.calls > 0)
        json["first"] = {{"step", faults.step}, {"layer", faults.layer}, {"text", faults.first}};
    return json;
}

ordered_json line_json(const train::ShadowLine& line) {
    return {{"slot", line.slot},
            {"layers", line.layers},
            {"trusted", line.trusted},
            {"candidate", line.candidate},
            {"every", line.every},
            {"dropout", line.without_dropout ? "off" : "same"},
            {"steps", line.steps},
            {"calls", line.calls},
            {"faults", faults_json(line.faults)},
            {"outputs", drifts_json(line.outputs)},
            {"gradients", drifts_json(line.gradients)},
            {"trusted_ms", base::to_json(bench::median_interval(line.trusted_ms))},
            {"candidate_ms", base::to_json(bench::median_interval(line.candidate_ms))},
            {"time_ratio", base::to_json(bench::median_interval(line.ratios()))}};
}

std::string drift_text(const char* what, const train::CallDrifts& drifts) {
    if (drifts.means.empty()) return "";
    auto text = "    drift of " + std::string(what) + ": " + base::scientific(bench::median(drifts.means)) +
                " in the median call, at most " + base::scientific(drifts.largest);
    if (drifts.largest > 0.0)
        text += " (step " + std::to_string(drifts.step) + ", " + drifts.layer + ", " + drifts.tensor + ")";
    return text + "\n";
}

}  // namespace

train::ShadowLines all_shadow_lines(const train::TrainingResult& result) {
    train::ShadowLines all;
    for (const auto& step : result.steps) train::add_lines(all, step.shadow);
    return all;
}

ordered_json shadow_json(const train::ShadowLines& lines) {
    ordered_json list = ordered_json::array();
    for (const auto& line : lines) list.push_back(line_json(line));
    return list;
}

ordered_json shadow_step_json(const train::ShadowLines& lines) {
    ordered_json list = ordered_json::array();
    for (const auto& line : lines) {
        ordered_json json{{"slot", line.slot},           {"layers", line.layers},
                          {"candidate", line.candidate}, {"calls", line.calls},
                          {"faults", line.faults.calls}, {"outputs", nullptr},
                          {"gradients", nullptr},        {"time_ratio", nullptr}};
        if (!line.outputs.means.empty()) json["outputs"] = line.outputs.largest;
        if (!line.gradients.means.empty()) json["gradients"] = line.gradients.largest;
        if (const auto ratios = line.ratios(); !ratios.empty()) json["time_ratio"] = bench::median(ratios);
        list.push_back(std::move(json));
    }
    return list;
}

std::string shadow_text(const train::ShadowLines& lines) {
    std::string text;
    for (const auto& line : lines) {
        text += "shadow of " + line.slot + ", " + line.layers + ": " + line.candidate + " beside " +
                line.trusted + ", " + counted(static_cast<std::size_t>(line.calls), "call") + " in " +
                counted(static_cast<std::size_t>(line.steps), "step") +
                (line.without_dropout ? ", without dropout, which not both draw alike" : "") + "\n";
        text += drift_text("outputs", line.outputs) + drift_text("gradients", line.gradients);
        if (!line.trusted_ms.empty())
            text += "    time: " + base::interval_text(bench::median_interval(line.ratios())) +
                    " times that of the trusted one (" + base::digits(bench::median(line.candidate_ms)) +
                    " ms a call beside " + base::digits(bench::median(line.trusted_ms)) + " ms)\n";
        if (const auto& faults = line.faults; faults.calls > 0)
            text += "    faults: in " + counted(static_cast<std::size_t>(faults.calls), "call") +
                    ", the first in step " + std::to_string(faults.step) + ", " + faults.layer + ": " +
                    base::printable(faults.first) + "\n";
    }
    return text.empty() ? text
                        : text +
                              "    (drift: difference from the trusted component's values, relative to their "
                              "root mean square)\n";
}

}  // namespace switchyard::cli

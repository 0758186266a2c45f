#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/profile/attribution.h"
#include "core/workbench/profile/observed_step.h"
#include "core/workbench/profile/profile_report.h"

namespace switchyard::profile {
namespace {

using Json = nlohmann::ordered_json;

Json line_json(const Line& line, const Profile& profile) {
    const auto shares = shares_of(line, profile.roofs);
    return {{"name", line.name},
            {"ms", line.ms},
            {"share", profile.step_ms > 0.0 ? line.ms / profile.step_ms : 0.0},
            {"forward_ms", line.forward_ms},
            {"again_ms", line.again_ms},
            {"backward_ms", line.backward_ms},
            {"calls", line.calls},
            {"backward_calls", line.backward_calls},
            {"flops", line.cost.flops},
            {"read_bytes", line.cost.read},
            {"written_bytes", line.cost.written},
            {"of_products", shares.products},
            {"of_read", shares.read},
            {"of_copy", shares.copy}};
}

Json lines_json(const std::vector<Line>& lines, const Profile& profile, bool with_slot = false) {
    auto list = Json::array();
    for (const auto& line : lines) {
        list.push_back(line_json(line, profile));
        if (with_slot) list.back()["slot"] = line.slot;
    }
    return list;
}

Json timed_json(const std::vector<TimedUse>& timed) {
    auto list = Json::array();
    for (const auto& use : timed) {
        auto times = Json::array();
        for (const auto& component : use.components)
            times.push_back({{"component", component.name}, {"ms", component.ms}});
        list.push_back({{"use", use.use}, {"chosen", use.chosen}, {"with", use.with}, {"times", times}});
    }
    return list;
}

}  // namespace

Json roofs_json(const Roofs& roofs) {
    auto products = Json::array();
    for (const auto& [dtype, flops] : roofs.products) {
        const auto of = roofs.products_of.find(dtype);
        products.push_back({{"dtype", std::string(name(dtype))},
                            {"flops_per_second", flops},
                            {"of", of == roofs.products_of.end() ? "" : of->second}});
    }
    return {
        {"products", products}, {"read_bytes_per_second", roofs.read}, {"copy_bytes_per_second", roofs.copy}};
}

Json profile_json(const Profile& profile, const ProfileFacts& facts) {
    auto between = Json::array(), advice = Json::array();
    for (const auto& [pass, ms] : profile.between) between.push_back({{"pass", pass}, {"ms", ms}});
    for (const auto& one : profile.advice)
        advice.push_back(
            {{"change", one.change}, {"saves", one.saves}, {"measured", one.measured}, {"why", one.why}});
    return {{"config", facts.config},
            {"command", facts.command},
            {"schedule",
             {{"wait", profile.schedule.wait},
              {"warmup", profile.schedule.warmup},
              {"active", profile.schedule.active},
              {"repeat", profile.schedule.repeat}}},
            {"steps", profile.steps},
            {"step_ms", profile.step_ms},
            {"explained", profile.explained},
            {"least_explained", profile.least_explained},
            {"between", between},
            {"overhead",
             {{"median", base::number_or_null(profile.overhead.median)},
              {"low", base::number_or_null(profile.overhead.low)},
              {"high", base::number_or_null(profile.overhead.high)},
              {"pairs", profile.pairs},
              {"event_us", profile.event_us}}},
            {"events", profile.events},
            {"samples", profile.samples},
            {"tokens", profile.tokens},
            {"padding", profile.padding},
            {"model_flops", profile.model_flops},
            {"roofs", roofs_json(profile.roofs)},
            {"slots", lines_json(profile.slots, profile)},
            {"uses", lines_json(profile.uses, profile)},
            {"layers", lines_json(profile.layers, profile)},
            {"operators", lines_json(profile.operators, profile, true)},
            {"memory", memory_json(profile.memory)},
            {"advice", advice},
            {"timed", timed_json(profile.timed)}};
}

}  // namespace switchyard::profile

#include "core/workbench/cli/plugins/verify_output.h"

#include <algorithm>
#include <iostream>
#include <set>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/verify_support.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string why_nothing_ran(const VerifyRequest& request, const conformance::Report& report) {
    if (report.skipped > 0) {
        const auto most = std::max_element(report.skip_reasons.begin(), report.skip_reasons.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        return "none of " + counted(static_cast<std::size_t>(report.skipped), "case") +
               " is served: nothing is known" +
               (most == report.skip_reasons.end() ? "" : " (most often " + most->first + ")");
    }
    if (!request.filter.empty()) return "no case has \"" + request.filter + "\" in its name";
    if (request.modes == std::vector<std::string>{"gradients"}) return "no case of this kind has gradients";
    return "no cases for this kind: nothing is known";
}

void print_counts(const VerifyRequest& request, const conformance::Report& report) {
    if (report.cases == 0 && report.faults.empty()) {
        std::cout << paint(Color::yellow, why_nothing_ran(request, report)) << '\n';
        return;
    }
    std::cout << report.cases << " cases"
              << (report.drawn > 0 ? " (" + std::to_string(report.drawn) + " drawn), " : ", ")
              << paint(report.failed == 0 ? Color::green : Color::red,
                       std::to_string(report.failed) + " failed")
              << ", " << report.skipped << " not served";
    if (report.worst_ratio > 0)
        std::cout << "; closest to its allowance: " << report.worst_ratio << " of it in "
                  << report.worst_case;
    std::cout << '\n';
}

// Of cases that came behind too many that ended the process.
std::string why_not_run(std::int64_t cases) {
    return std::to_string(most_ends) +
           " cases ended the process or hung, so what came behind them did not run: up to " +
           counted(static_cast<std::size_t>(cases), "case");
}

std::string details_of(const std::vector<const conformance::Fault*>& faults) {
    std::string text;
    for (const auto* fault : faults) text += (text.empty() ? "" : "; ") + fault->code + ": " + fault->detail;
    return text;
}

}  // namespace

std::string repetition(const VerifyRequest& request, const VerifiedComponent& component,
                       const conformance::Fault& fault) {
    std::string text = "switchyard plugins verify " + base::shell_word(component.plugin);
    if (!request.job.config.empty()) text += " --config " + base::shell_word(request.job.config);
    for (const auto& value : request.job.overrides) text += " --set " + base::shell_word(value);
    if (request.job.trust) text += " --trust";
    text += " --component " + base::shell_word(std::string(name(component.kind)) + "/" + component.id);
    for (const auto& mode : request.modes) text += " --mode " + mode;
    for (const auto& dtype : request.dtypes) text += " --dtype " + dtype;
    for (const auto& option : request.given) text += " --option " + base::shell_word(option);
    if (request.device != "cpu") text += " --device " + request.device;
    const bool is_case = fault.where.find('/') != std::string::npos;
    const auto filter = is_case ? " --filter " + base::shell_word(fault.where) : "";
    if (!request.job.config.empty())
        return text + " --seed " + std::to_string(request.seed) + " --drawn " +
               std::to_string(request.drawn) + filter;
    if (fault.drawn < 0) return text + " --drawn 0" + filter;
    return text + " --seed " + std::to_string(request.seed) + " --drawn " + std::to_string(fault.drawn + 1) +
           " --filter /drawn/" + std::to_string(fault.drawn) + "/";
}

Json to_json(const VerifyRequest& request, const VerifiedComponent& component) {
    const auto& report = component.verified.report;
    Json faults = Json::array();
    for (const auto& fault : report.faults) {
        faults.push_back({{"code", fault.code},
                          {"case", fault.where},
                          {"detail", fault.detail},
                          {"repeat", repetition(request, component, fault)}});
    }
    Json json{{"component", report.component},
              {"kind", std::string(name(component.kind))},
              {"options", resolver::to_json(component.options)},
              {"cases", report.cases},
              {"drawn", report.drawn},
              {"failed", report.failed},
              {"skipped", report.skipped},
              {"not_run", component.verified.not_run},
              {"skip_reasons", report.skip_reasons},
              {"worst_ratio", base::number_or_null(report.worst_ratio)},
              {"worst_case", report.worst_case},
              {"faults", faults}};
    if (!request.job.config.empty()) json["uses"] = component.uses;
    if (!report.support.empty()) json["support"] = support_json(report);
    return json;
}

void print(const VerifyRequest& request, const VerifiedComponent& component, std::int64_t shown) {
    const auto& report = component.verified.report;
    std::cout << paint(Color::bold, std::string(name(component.kind)) + " " + report.component)
              << (component.given.empty() ? "" : " with " + component.given) << ": ";
    if (report.support.empty())
        print_counts(request, report);
    else
        print_support(report, shown);
    if (const auto left = component.verified.not_run; left > 0)
        std::cout << "    " << paint(Color::red, why_not_run(left)) << '\n';
    for (const auto& use : component.uses) std::cout << "    " << paint(Color::dim, use) << '\n';
    bool first = true;  // a listed case is found by its name: how is told once
    std::int64_t left = shown;
    for (const auto& fault : report.faults) {
        if (left-- == 0) break;
        std::cout << "    " << paint(Color::red, fault.code) << " in " << fault.where << ": " << fault.detail
                  << '\n';
        if (fault.drawn >= 0 || first)
            std::cout << "        repeat it: " << repetition(request, component, fault) << '\n';
        first = first && fault.drawn >= 0;
    }
    const auto more = static_cast<std::int64_t>(report.faults.size()) - shown;
    if (more > 0) std::cout << "    and " << more << " more: --json has them all\n";
    std::cout.flush();
}

void add_junit_cases(const VerifyRequest& request, const VerifiedComponent& component,
                     std::vector<report::JUnitCase>& cases) {
    using Outcome = report::JUnitCase::Outcome;
    const auto& report = component.verified.report;
    const std::string group = std::string(name(component.kind)) + "." + report.component;
    std::set<const conformance::Fault*> told;
    const auto add_failed = [&](const std::vector<const conformance::Fault*>& faults) {
        const auto& first = *faults.front();
        cases.push_back({group, first.where, Outcome::failed, first.code,
                         details_of(faults) + "; repeat it: " + repetition(request, component, first)});
        told.insert(faults.begin(), faults.end());
    };
    for (const auto& ran : component.verified.ran) {
        if (!report.support.empty()) break;  // told below, case by case
        std::vector<const conformance::Fault*> faults;
        for (const auto& fault : report.faults)
            if (fault.where == ran || (fault.drawn >= 0 && ran == "drawn/" + std::to_string(fault.drawn)))
                faults.push_back(&fault);
        if (faults.empty())
            cases.push_back({group, ran, Outcome::passed, "", ""});
        else
            add_failed(faults);
    }
    for (const auto& fault : report.faults)
        if (!told.contains(&fault)) add_failed({&fault});
    for (const auto& one : report.support)
        cases.push_back({group, one.where, one.refused.empty() ? Outcome::passed : Outcome::skipped, "",
                         joined(one.refused, "; ")});
    if (const auto left = component.verified.not_run; left > 0)
        cases.push_back({group, "all further cases", Outcome::error, "not_run", why_not_run(left)});
    if (report.skipped > 0 && report.support.empty())
        cases.push_back({group, "what it does not serve", Outcome::skipped, "",
                         counted(static_cast<std::size_t>(report.skipped), "listed case")});
}

}  // namespace switchyard::cli

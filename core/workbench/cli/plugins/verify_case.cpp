#include "core/workbench/cli/plugins/verify_case.h"

#include <limits>

#include "core/kernel/base/json_text.h"

namespace switchyard::cli {

using Json = nlohmann::ordered_json;

Json to_json(const VerifyPart& part) {
    const auto& request = part.request;
    return {
        {"type", "verify"},           {"plugin", request.plugin},     {"wanted", request.component},
        {"filter", request.filter},   {"dtypes", request.dtypes},     {"given", request.given},
        {"modes", request.modes},     {"device", request.device},     {"seed", request.seed},
        {"drawn", request.drawn},     {"config", request.job.config}, {"overrides", request.job.overrides},
        {"trust", request.job.trust}, {"planned", part.planned},      {"component", part.component},
        {"kind", part.kind},          {"first", part.first}};
}

VerifyPart read_verify_part(const Json& message) {
    VerifyPart part;
    auto& request = part.request;
    request.plugin = message.at("plugin").get<std::string>();
    request.component = message.at("wanted").get<std::string>();
    request.filter = message.at("filter").get<std::string>();
    request.dtypes = message.at("dtypes").get<std::vector<std::string>>();
    request.given = message.at("given").get<std::vector<std::string>>();
    request.modes = message.at("modes").get<std::vector<std::string>>();
    request.device = message.at("device").get<std::string>();
    request.seed = message.at("seed").get<std::uint64_t>();
    request.drawn = message.at("drawn").get<std::int64_t>();
    request.job.config = message.at("config").get<std::string>();
    request.job.overrides = message.at("overrides").get<std::vector<std::string>>();
    request.job.trust = message.at("trust").get<bool>();
    part.planned = message.at("planned").get<std::size_t>();
    part.component = message.at("component").get<std::string>();
    part.kind = message.at("kind").get<std::string>();
    part.first = message.at("first").get<std::int64_t>();
    return part;
}

Json report_message(const conformance::Report& report, Told after) {
    Json faults = Json::array(), support = Json::array();
    for (std::size_t i = after.faults; i < report.faults.size(); ++i) {
        const auto& fault = report.faults[i];
        faults.push_back(
            {{"code", fault.code}, {"case", fault.where}, {"detail", fault.detail}, {"drawn", fault.drawn}});
    }
    for (std::size_t i = after.support; i < report.support.size(); ++i)
        support.push_back({{"case", report.support[i].where}, {"refused", report.support[i].refused}});
    return {{"cases", report.cases},
            {"failed", report.failed},
            {"skipped", report.skipped},
            {"drawn", report.drawn},
            {"skip_reasons", report.skip_reasons},
            {"worst_ratio", base::number_or_null(report.worst_ratio)},
            {"worst_case", report.worst_case},
            {"faults", faults},
            {"support", support}};
}

void take_report(const Json& message, conformance::Report& counted) {
    counted.cases = message.at("cases").get<std::int64_t>();
    counted.failed = message.at("failed").get<std::int64_t>();
    counted.skipped = message.at("skipped").get<std::int64_t>();
    counted.drawn = message.at("drawn").get<std::int64_t>();
    counted.skip_reasons = message.at("skip_reasons").get<std::map<std::string, std::int64_t>>();
    const auto& ratio = message.at("worst_ratio");
    counted.worst_ratio = ratio.is_null() ? std::numeric_limits<double>::infinity() : ratio.get<double>();
    counted.worst_case = message.at("worst_case").get<std::string>();
    for (const auto& fault : message.at("faults")) {
        counted.faults.push_back({fault.at("code").get<std::string>(), fault.at("case").get<std::string>(),
                                  fault.at("detail").get<std::string>(),
                                  fault.at("drawn").get<std::int64_t>()});
    }
    for (const auto& one : message.at("support"))
        counted.support.push_back(
            {one.at("case").get<std::string>(), one.at("refused").get<std::vector<std::string>>()});
}

void add_report(conformance::Report& to, const conformance::Report& more) {
    to.cases += more.cases;
    to.failed += more.failed;
    to.skipped += more.skipped;
    to.drawn += more.drawn;
    for (const auto& [reason, count] : more.skip_reasons) to.skip_reasons[reason] += count;
    if (more.worst_ratio > to.worst_ratio) {
        to.worst_ratio = more.worst_ratio;
        to.worst_case = more.worst_case;
    }
    to.faults.insert(to.faults.end(), more.faults.begin(), more.faults.end());
    to.support.insert(to.support.end(), more.support.begin(), more.support.end());
}

}  // namespace switchyard::cli

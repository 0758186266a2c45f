#include "core/workbench/cli/plugins/verify_support.h"

#include <algorithm>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/cli/output.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Count {
    std::int64_t served = 0, all = 0;

    void add(const conformance::Report::Support& one) {
        ++all;
        served += one.refused.empty() ? 1 : 0;
    }
    std::string text() const { return std::to_string(served) + " of " + std::to_string(all); }
};

// Of the cases that have it among the words of their names: "attention/packed/causal/f32/H4K2/N129".
Count count_of(const conformance::Report& report, const std::string& word) {
    Count count;
    for (const auto& one : report.support)
        if (("/" + one.where + "/").find("/" + word + "/") != std::string::npos) count.add(one);
    return count;
}

}  // namespace

Json support_json(const conformance::Report& report) {
    Json cases = Json::array();
    for (const auto& one : report.support)
        cases.push_back({{"case", one.where}, {"served", one.refused.empty()}, {"reasons", one.refused}});
    return cases;
}

void print_support(const conformance::Report& report, std::int64_t shown) {
    Count all;
    for (const auto& one : report.support) all.add(one);
    std::cout << "serves " << paint(all.served > 0 ? Color::green : Color::yellow, all.text())
              << " listed cases";
    std::string of_dtypes;
    for (const std::string dtype : {"f32", "bf16", "f16", "f64"})
        if (const auto count = count_of(report, dtype); count.all > 0)
            of_dtypes += (of_dtypes.empty() ? ": " : ", ") + dtype + " " + count.text();
    std::cout << of_dtypes << '\n';

    using Reason = std::pair<std::string, std::int64_t>;
    std::vector<Reason> reasons(report.skip_reasons.begin(), report.skip_reasons.end());
    std::ranges::stable_sort(reasons, std::ranges::greater(), &Reason::second);
    const auto told = std::min(static_cast<std::int64_t>(reasons.size()), shown);
    for (std::int64_t i = 0; i < told; ++i) {
        const auto& [reason, count] = reasons[static_cast<std::size_t>(i)];
        std::cout << "    refuses " << counted(static_cast<std::size_t>(count), "case") << ": " << reason
                  << '\n';
    }
    if (const auto more = static_cast<std::int64_t>(reasons.size()) - told; more > 0)
        std::cout << "    and " << more << " more reasons: --show N, or --json, has them all\n";
    std::cout.flush();
}

}  // namespace switchyard::cli

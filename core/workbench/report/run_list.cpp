#include "core/workbench/report/run_list.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/report/number_text.h"

namespace switchyard::report {

std::string summary_of(const RunList& list) {
    std::map<std::string, std::size_t> counts;
    for (const auto& run : list.runs) ++counts[run.state];
    std::string states;
    for (const auto& [state, count] : counts)
        base::add_item(states, std::to_string(count) + " " + base::quoted(state));
    return base::counted(list.runs.size(), "run") + ": " + states;
}

std::vector<std::string> metrics_in_rows(const RunList& list, const std::string& sorted_by) {
    std::vector<std::string> chosen;
    const auto choose = [&](const std::string& metric) {
        if (std::ranges::count(list.metrics, metric) > 0 && std::ranges::count(chosen, metric) == 0)
            chosen.push_back(metric);
    };
    choose("loss");
    choose(sorted_by);
    for (const auto& run : list.runs) choose(run.kept_metric);
    for (const auto& metric : list.metrics) {
        if (chosen.size() < 2) choose(metric);
    }
    return chosen;
}

std::string score_text(const ListedRun& run, const std::string& metric) {
    const auto found = run.scores.find(metric);
    if (found == run.scores.end()) return "";
    const auto& [last, best] = found->second;
    const auto text = page_number(last.y, 4);
    return best.y == last.y
               ? text
               : text + ", best " + page_number(best.y, 4) + " at step " + page_number(best.x, 1);
}

bool has_several_ranks(const RunList& list) {
    return std::ranges::any_of(list.runs, [](const ListedRun& run) { return run.ranks.value_or(1.0) > 1.0; });
}

std::string value_text(const ListedRun& run, const std::string& key) {
    const auto found = run.config.find(key);
    return found == run.config.end() ? "" : found->second;
}

std::string clock_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    std::array<char, 64> text{};
    if (::localtime_r(&time, &parts) == nullptr) return "";
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts)};
}

}  // namespace switchyard::report

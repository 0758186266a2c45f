// switchyard runs [FOLDER]
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <iostream>
#include <limits>
#include <memory>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/metric_names.h"
#include "core/kernel/config/suggest.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/runs/find_runs.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/number_text.h"
#include "core/workbench/report/runs_page.h"

namespace switchyard::cli {
namespace {

using base::Json;
using report::ListedRun;
using report::RunList;

constexpr std::size_t shown_keys = 8;
constexpr std::size_t longest_value = 40;
// On a terminal; who reads a file or a pipe wants a run on each line.
constexpr std::size_t seen_width = 110, unfolded = std::numeric_limits<std::size_t>::max();

struct RunsOptions {
    std::string folder = "runs";
    std::string sort;
    std::string html;
    JsonOption json;
};

// The best first, then the runs that do not have it. `name`: with "eval." before it or without.
std::string sort_by(const std::string& name, RunList& list) {
    const auto metric = name.starts_with("eval.") ? name.substr(5) : name;
    if (std::ranges::count(list.metrics, metric) == 0) {
        const auto near = config::suggest(metric, list.metrics);
        throw Failure("--sort: no run has a score " + base::quoted(name) +
                      (list.metrics.empty() ? ": none was evaluated"
                       : near.empty()       ? "; expected one of " + joined(list.metrics)
                                            : "; did you mean " + near + "?"));
    }
    const bool lower = config::lower_is_better(metric);
    std::ranges::stable_sort(list.runs, [&](const ListedRun& one, const ListedRun& other) {
        const auto first = one.scores.find(metric), second = other.scores.find(metric);
        if (first == one.scores.end() || second == other.scores.end()) return first != one.scores.end();
        const double a = first->second.best.y, b = second->second.best.y;
        return lower ? a < b : a > b;
    });
    return metric;
}

std::string number_cell(const std::optional<double>& value, int significant) {
    return value ? report::page_number(*value, significant) : "-";
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

void print(const RunList& list, const std::string& sorted_by) {
    using Align = bench::TextTable::Align;
    const auto metrics = report::metrics_in_rows(list, sorted_by);
    const auto keys = std::min(list.differing.size(), shown_keys);
    std::vector<bench::TextTable::Column> columns{{"run", Align::left},
                                                  {"state", Align::left},
                                                  {"last written", Align::left},
                                                  {"steps"},
                                                  {"train loss"}};
    for (const auto& metric : metrics) columns.push_back({base::printable("eval." + metric), Align::left});
    columns.push_back({"samples/s"});
    const bool ranks = report::has_several_ranks(list);
    if (ranks) columns.push_back({"ranks"});
    for (std::size_t i = 0; i < keys; ++i)
        columns.push_back({base::printable(list.differing[i]), Align::left});
    bench::TextTable table(std::move(columns));
    for (const auto& run : list.runs) {
        std::vector<std::string> row{report::shortened(run.name, 2 * longest_value), run.state,
                                     or_dash(report::clock_text(run.written)), number_cell(run.steps, 1),
                                     number_cell(run.train_loss, 4)};
        for (const auto& metric : metrics) row.push_back(or_dash(report::score_text(run, metric)));
        row.push_back(number_cell(run.samples_per_second, 3));
        if (ranks) row.push_back(number_cell(run.ranks, 1));
        for (std::size_t i = 0; i < keys; ++i)
            row.push_back(
                or_dash(report::shortened(report::value_text(run, list.differing[i]), longest_value)));
        table.row(std::move(row));
        for (const auto& problem : run.problems) table.note(base::printable(problem));
    }
    std::cout << base::printable(list.folder) << ": " << report::summary_of(list) << '\n'
              << table.render("  ", ::isatty(STDOUT_FILENO) == 1 ? seen_width : unfolded);
    if (list.differing.size() > keys)
        std::cout << "They differ in " << list.differing.size() - keys
                  << " more keys, which --json and --html show.\n";
}

// "2026-03-01T14:05:00Z"
std::string utc_text(std::int64_t seconds) {
    const std::time_t time = seconds;
    std::tm parts{};
    std::array<char, 64> text{};
    if (::gmtime_r(&time, &parts) == nullptr) return "";
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

// Steps and ranks are whole numbers, whatever a file says.
Json whole_json(const std::optional<double>& number, double least = 0.0) {
    constexpr double most = 9e15;
    return number && *number >= least && *number <= most ? Json(std::llround(*number)) : Json(nullptr);
}

Json point_json(const report::Point& point) { return {{"step", whole_json(point.x)}, {"value", point.y}}; }

Json run_json(const RunList& list, const ListedRun& run) {
    Json scores = Json::object(), config = Json::object();
    for (const auto& [metric, score] : run.scores)
        scores[metric] = {{"last", point_json(score.last)}, {"best", point_json(score.best)}};
    for (const auto& key : list.differing) {
        const auto found = run.config.find(key);
        config[key] = found == run.config.end() ? Json(nullptr) : Json(found->second);
    }
    return {{"name", run.name},
            {"folder", run.folder},
            {"state", run.state},
            {"written", utc_text(run.written)},
            {"ranks", whole_json(run.ranks, 1.0)},
            {"steps", whole_json(run.steps)},
            {"train_loss", number_json(run.train_loss)},
            {"samples_per_second", number_json(run.samples_per_second)},
            {"keep_best", run.kept_metric.empty() ? Json(nullptr) : Json("eval." + run.kept_metric)},
            {"scores", std::move(scores)},
            {"config", std::move(config)},
            {"problems", run.problems}};
}

Json list_json(const RunList& list) {
    Json runs = Json::array();
    for (const auto& run : list.runs) runs.push_back(run_json(list, run));
    return {{"folder", list.folder},
            {"metrics", list.metrics},
            {"differing", list.differing},
            {"runs", std::move(runs)}};
}

int show_runs(const RunsOptions& options) {
    auto list = find_runs(options.folder);
    const auto sorted_by = options.sort.empty() ? "" : sort_by(options.sort, list);
    write_json(options.json, list_json(list));
    if (!options.html.empty()) write_file(options.html, report::runs_page(list, sorted_by));
    if (!options.json.on_stdout()) print(list, sorted_by);
    return Exit::fine;
}

}  // namespace

Action setup_runs(CLI::App& command) {
    const auto options = std::make_shared<RunsOptions>();
    command
        .add_option("FOLDER", options->folder,
                    "folder of runs: those in it, in its folders and in theirs are listed")
        ->type_name("")
        ->capture_default_str();
    command
        .add_option(
            "--sort", options->sort,
            "the best by this score of the evaluations first, as in --sort eval.accuracy; without: the "
            "newest first")
        ->type_name("METRIC");
    command.add_option("--html", options->html, "also write the list as one page")
        ->check(output_file())
        ->type_name("FILE");
    add_json(command, options->json);
    return [options] { return show_runs(*options); };
}

}  // namespace switchyard::cli

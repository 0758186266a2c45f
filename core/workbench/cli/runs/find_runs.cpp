#include "core/workbench/cli/runs/find_runs.h"

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>
#include <system_error>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/load.h"
#include "core/kernel/config/metric_names.h"
#include "core/kernel/config/show.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/report/run_record.h"
#include "core/workbench/train/run_lock.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

using report::ListedRun;
using report::ListedScore;
using report::RunRecord;

constexpr int deepest = 2;
constexpr std::string_view evaluated = "eval_";  // before the name of a score in metrics.jsonl

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool holds_run(const fs::path& folder) {
    return is_there(folder / "record.json") || is_there(folder / "metrics.jsonl") ||
           is_there(folder / "summary.json");
}

// The time of the youngest of the files that a run goes on writing.
std::int64_t last_written(const fs::path& folder) {
    std::int64_t newest = 0;
    for (const char* name : {"record.json", "metrics.jsonl", "summary.json"}) {
        struct stat found {};
        if (::stat((folder / name).c_str(), &found) == 0)
            newest = std::max<std::int64_t>(newest, found.st_mtim.tv_sec);
    }
    return newest;
}

std::optional<double> last_of(const report::Points& points) {
    return points.empty() ? std::nullopt : std::optional(points.back().y);
}

// Of equal evaluations the earliest is the best, as with train.keep_best.
ListedScore score_of(const std::string& metric, const report::Points& points) {
    const bool lower = config::lower_is_better(metric);
    const auto better = [&](const report::Point& one, const report::Point& other) {
        return lower ? one.y < other.y : one.y > other.y;
    };
    return {points.back(), *std::ranges::min_element(points, better)};
}

void add_scores(ListedRun& run, const report::Metrics& metrics) {
    for (const auto& [name, points] : metrics.curves) {
        if (!name.starts_with(evaluated) || points.empty()) continue;
        const auto metric = name.substr(evaluated.size());
        run.scores[metric] = score_of(metric, points);
    }
}

double last_step(const report::Metrics& metrics) {
    double last = 0.0;
    for (const auto& [name, points] : metrics.curves) {
        if (!points.empty()) last = std::max(last, points.back().x);
    }
    return last;
}

// A summary holds for the process that wrote it: not for one that went on later and did not come to its end.
void add_outcome(ListedRun& run, const RunRecord& record, bool runs) {
    static const report::Metrics nothing;
    const auto& metrics = record.metrics ? *record.metrics : nothing;
    const double reached = last_step(metrics);
    const auto& summary = record.summary;
    const bool current = summary && !runs && reached <= summary->steps.value_or(reached);
    run.state = current && !summary->status.empty() ? summary->status : "interrupted";
    run.steps = current ? summary->steps : std::optional(reached);
    run.ranks = current ? summary->ranks : std::nullopt;
    run.train_loss = current ? summary->train_loss : last_of(metrics.curve("loss"));
    run.samples_per_second = current ? summary->samples_per_second : std::nullopt;
    if (!run.samples_per_second) run.samples_per_second = last_of(metrics.curve("samples_per_second"));
    if (current && !summary->error.empty()) run.problems.push_back(summary->error);
    add_scores(run, metrics);
}

// What was changed when the run was gone on with. Facts beside the configuration are told in other words than
// its values are, and left alone.
void apply_changes(std::map<std::string, std::string>& values, const std::vector<report::Change>& changes) {
    for (const auto& change : changes) {
        const auto found = values.find(change.key);
        if (found != values.end() && found->second == change.before) found->second = change.now;
    }
}

std::string shortest(const std::vector<config::Problem>& problems) {
    const auto text = config::render(problems.front());
    return text.substr(0, text.find('\n'));
}

// Names of scores in the order in which they matter to the job.
std::vector<std::string> add_config(ListedRun& run, const std::vector<report::Change>& changes) {
    config::LoadRequest request;
    request.path = (fs::path(run.folder) / "config.toml").string();
    request.recorded = true;
    auto loaded = config::load(request);
    if (!loaded.config) {
        run.problems.push_back(loaded.problems.empty() ? request.path + ": error: cannot be read"
                                                       : shortest(loaded.problems));
        return {};
    }
    run.config = config::canonical_values(*loaded.config);
    apply_changes(run.config, changes);
    run.kept_metric = config::kept_metric(loaded.config->train);
    return config::metric_names(*loaded.config);
}

class Finder {
public:
    explicit Finder(const std::string& folder) { list_.folder = folder; }

    report::RunList find() {
        look_at(list_.folder, "", 0);
        std::ranges::stable_sort(list_.runs, [](const ListedRun& one, const ListedRun& other) {
            return one.written != other.written ? one.written > other.written : one.name < other.name;
        });
        add_metrics();
        add_differing();
        return std::move(list_);
    }

private:
    void look_at(const fs::path& folder, const std::string& name, int depth) {
        if (holds_run(folder)) return add_run(folder, name);
        if (depth > deepest) return;
        std::error_code error;
        for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
             entry.increment(error)) {
            std::error_code ignored;
            const auto own = entry->path().filename().string();
            if (own.starts_with('.') || !entry->is_directory(ignored)) continue;
            look_at(entry->path(), name.empty() ? own : name + "/" + own, depth + 1);
        }
        if (error) add_broken(folder, name, folder.string() + ": error: cannot be read: " + error.message());
    }

    void add_broken(const fs::path& folder, const std::string& name, const std::string& why) {
        ListedRun run;
        run.name = name;
        run.folder = folder.string();
        run.state = "broken";
        run.problems.push_back(why);
        list_.runs.push_back(std::move(run));
    }

    void add_run(const fs::path& folder, const std::string& name) {
        ListedRun run;
        run.folder = folder.string();
        run.name = name.empty() ? run.folder : name;
        run.written = last_written(folder);
        const bool runs = train::RunLock::is_held(run.folder);
        std::vector<report::Change> changes;
        try {
            const auto record = report::read_run(run.folder);
            add_outcome(run, record, runs);
            changes = record.changes;
        } catch (const std::exception& error) {
            run.state = "broken";
            run.problems.emplace_back(error.what());
        }
        if (runs) run.state = "running";
        for (const auto& metric : add_config(run, changes)) known_.push_back(metric);
        list_.runs.push_back(std::move(run));
    }

    // In the order that their jobs know, those that no job knows after them.
    void add_metrics() {
        std::set<std::string> there, listed;
        for (const auto& run : list_.runs) {
            for (const auto& [metric, score] : run.scores) there.insert(metric);
        }
        known_.insert(known_.end(), there.begin(), there.end());
        for (const auto& metric : known_) {
            if (there.contains(metric) && listed.insert(metric).second) list_.metrics.push_back(metric);
        }
    }

    void add_differing() {
        std::map<std::string, std::set<std::string>> values;
        for (const auto& run : list_.runs) {
            for (const auto& [key, value] : run.config) values[key];
        }
        for (auto& [key, different] : values) {
            for (const auto& run : list_.runs) {
                if (!run.config.empty()) different.insert(report::value_text(run, key));
            }
            if (different.size() > 1) list_.differing.push_back(key);
        }
    }

    report::RunList list_;
    std::vector<std::string> known_;  // metrics
};

}  // namespace

report::RunList find_runs(const std::string& folder) {
    constexpr const char* expected =
        "; expected a folder of runs, as `switchyard train --run runs/NAME` leaves them";
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored))
        throw Failure(folder + ": error: " +
                      (is_there(folder) ? "is not a folder" : "there is no such folder") + expected);
    auto list = Finder(folder).find();
    if (list.runs.empty())
        throw Failure(folder + ": error: holds no run, nor do its folders and theirs" + expected);
    return list;
}

}  // namespace switchyard::cli

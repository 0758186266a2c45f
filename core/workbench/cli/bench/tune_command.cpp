// switchyard tune CONFIG
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/layout_choice.h"
#include "core/workbench/cli/job/plan_text.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct TuneCommand {
    JobOptions job;
    std::vector<std::string> slots;
    bool again = false;
    JsonOption json;
};

class Tune {
public:
    explicit Tune(const TuneCommand& command)
        : command_(command),
          host_(machine::this_host(machine::Look::with_devices)),
          job_(load_job(command.job, host_)),
          registry_(std::move(job_.records)) {
        set_up_runtime(job_.config.runtime);
        load_device(host_, job_.config.run.device);
        job_.config.distributed.part = {0, job_.config.mesh.tensor};  // what each rank runs
        job_.config.distributed.stage = {0, job_.config.mesh.pipeline};
    }

    int run() {
        if (const auto why = rank_because(job_.config, host_); !why.empty())
            throw Failure(place_of(why) + why + ": auto chooses by priority here, so nothing is measured");
        const auto begun = std::chrono::steady_clock::now();
        layout_ = decide_layout(job_.config, registry_, host_, Missing::measure);
        auto open = open_choices(job_.config, registry_, host_);
        const auto plan = checked_plan();
        check_slots(plan);
        std::erase_if(open, [&](const OpenChoice& choice) { return !wanted(choice.use); });
        Measurements measurements(job_.config, host_);
        for (const auto& note : measurements.notes()) std::cerr << "note: " << note << '\n';
        // Who asks for times now gets and keeps them.
        fresh_ = measurements.measure(open, registry_, config::KeepTimes::always, command_.again);
        measured_ = static_cast<std::size_t>(std::ranges::count(fresh_, true));
        measurement_cache_ = fresh_.size() - measured_;
        if (measurements.disturbed() > 0)
            std::cerr << ("warning: " + disturbed_text(measurements) +
                          "; --again on a quieter machine measures anew\n");
        if (measurements.short_of_memory() > 0)
            std::cerr << ("warning: " + short_of_memory_text(measurements) +
                          ": these times are not kept, and are measured anew the next time\n");
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
        const auto tuned = model::make_plan(job_.config, registry_, host_,
                                            {.chooser = measurements.chooser(), .explain = true});
        return report(open, tuned, measurements, spent.count());
    }

private:
    std::string place_of(const std::string& key) const {
        const auto found = job_.config.origins.find(key);
        return found == job_.config.origins.end() ? "" : config::to_string(found->second) + ": error: ";
    }

    // "linear" is all linear layers, one of them by its name, as linear.attention.q, too.
    static bool is_of(const resolver::SlotUse& use, const std::string& slot) {
        return use.slot == slot || use.stands_for(slot) ||
               (use.kind == Kind::linear && slot == name(use.kind));
    }

    bool wanted(const resolver::SlotUse& use) const {
        return command_.slots.empty() ||
               std::any_of(command_.slots.begin(), command_.slots.end(),
                           [&](const std::string& slot) { return is_of(use, slot); });
    }

    resolver::Plan checked_plan() {
        auto plan = model::make_plan(job_.config, registry_, host_);
        if (!plan.ok()) throw Failure(plan_problems(plan));
        return plan;
    }

    // A slot that was asked for and cannot be measured is a mistake; without --slot it is only left out.
    void check_slots(const resolver::Plan& plan) const {
        std::set<std::string> known;
        for (const auto& row : plan.rows) known.insert(row.use.slot);
        std::string problems;
        for (const auto& slot : command_.slots) {
            const auto why = why_not(plan, slot, known);
            if (!why.empty())
                problems += (problems.empty() ? "--slot " : "\nerror: --slot ") + slot + ": " + why;
        }
        if (!problems.empty()) throw Failure(problems);
    }

    static std::string why_not(const resolver::Plan& plan, const std::string& slot,
                               const std::set<std::string>& known) {
        const std::vector<std::string> names(known.begin(), known.end());
        const bool there = std::any_of(plan.rows.begin(), plan.rows.end(),
                                       [&](const auto& row) { return is_of(row.use, slot); });
        if (!there) {
            const auto near = config::suggest(slot, names);
            return "this model has no such slot" + (near.empty() ? "" : "; did you mean " + near + "?") +
                   " It has " + joined(names);
        }
        std::string why;
        for (const auto& row : plan.rows) {
            if (!is_of(row.use, slot)) continue;
            why = why_not_measured(row);
            if (why.empty()) return "";
        }
        return why;
    }

    // Empty: it is measured.
    static std::string why_not_measured(const resolver::PlanRow& row) {
        if (!row.use.config.automatic())
            return "its backend is " + joined(row.use.config.backend) + " (" +
                   config::to_string(row.use.origin) + "); only auto is measured";
        const auto why = resolver::not_measured_because(row.use.kind, *row.use.request);
        if (!why.empty()) return why;
        const auto serving = std::count_if(row.candidates.begin(), row.candidates.end(),
                                           [](const auto& candidate) { return candidate.ok; });
        return serving > 1 ? "" : "only one component serves it";
    }

    int report(const std::vector<OpenChoice>& open, const resolver::Plan& plan,
               const Measurements& measurements, double seconds) {
        const auto& kept = measurements.not_remembered();
        write_json(command_.json, json_of(open, plan, measurements, seconds));
        if (!command_.json.on_stdout()) {
            std::cout << base::printable(command_.job.config) << " on " << host_line(host_) << "\n\n";
            if (!open.empty()) std::cout << table(open, plan, measurements) << '\n';
            if (!layout_.empty()) std::cout << "batch.layout: " << layout_ << '\n';
            std::cout << left_out(plan) << summary(open, measurements, seconds);
        }
        if (!kept.empty()) throw Failure("the measurements could not be saved: " + kept, Exit::run_failed);
        const bool none_left = std::any_of(open.begin(), open.end(), [&](const auto& choice) {
            const auto& all = measurements.find(choice)->candidates;
            return std::none_of(all.begin(), all.end(), [](const auto& each) { return each.timed(); });
        });
        return none_left ? Exit::run_failed : Exit::fine;
    }

    static const resolver::PlanRow& row_of(const resolver::Plan& plan, const resolver::SlotUse& use) {
        return *std::find_if(plan.rows.begin(), plan.rows.end(), [&](const auto& row) {
            return row.use.slot == use.slot && row.use.layers == use.layers && row.use.phase == use.phase;
        });
    }

    static std::string time_text(const resolver::MeasuredCandidate& candidate) {
        if (!candidate.timed()) return "-";
        if (std::isfinite(candidate.low))
            return base::interval_text({candidate.ms, candidate.low, candidate.high});
        char text[32];
        std::snprintf(text, sizeof text, "%.3g", candidate.ms);
        return text;
    }

    static Text verdict(const resolver::MeasuredCandidate& candidate, const resolver::PlanRow& row) {
        const auto& chosen = *row.chosen;
        if (candidate.name == chosen.plugin + "/" + chosen.component)
            return paint(Color::green, "chosen") +
                   (row.how.find(": by priority") == std::string::npos ? "" : " by priority");
        if (!candidate.timed()) return paint(Color::red, "out: ") + candidate.failure;
        for (const auto& outcome : row.candidates) {
            if (candidate.name == outcome.plugin + "/" + outcome.component)
                return outcome.why_not + (std::isfinite(candidate.low) ? "" : " (few calls)");
        }
        return "";
    }

    static Text table(const std::vector<OpenChoice>& open, const resolver::Plan& plan,
                      const Measurements& measurements) {
        Table table({"slot", "layers", "phase", "candidate", "ms [95 %]", "verdict"});
        for (const auto& choice : open) {
            const auto& use = choice.use;
            const auto& measurement = *measurements.find(choice);
            const auto& row = row_of(plan, use);
            auto candidates = measurement.candidates;
            std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
                return a.timed() && (!b.timed() || a.ms < b.ms);
            });
            bool first = true;
            for (const auto& candidate : candidates) {
                table.row({first ? use.slot : "", first ? use.layers : "",
                           first ? std::string(name(use.phase)) : "", candidate.name, time_text(candidate),
                           verdict(candidate, row)});
                first = false;
            }
            table.note(measurement.shape_class + "; " +
                           (measurement.sample.empty() ? "" : "timed on " + measurement.sample + "; ") +
                           measurement.date,
                       Color::dim);
        }
        return table.render();
    }

    // Slots with `auto` that are not measured, and why.
    std::string left_out(const resolver::Plan& plan) const {
        std::string text;
        std::set<std::string> told;
        for (const auto& row : plan.rows) {
            if (!row.use.config.automatic() || !wanted(row.use)) continue;
            const auto why = why_not_measured(row);
            if (!why.empty() && told.insert(row.use.slot + why).second)
                text += row.use.slot + " is chosen by priority: " + why + "\n";
        }
        return text;
    }

    std::string summary(const std::vector<OpenChoice>& open, const Measurements& measurements,
                        double seconds) const {
        if (open.empty())
            return "nothing to measure: no slot of " + base::printable(command_.job.config) +
                   " leaves a choice between components to auto\n";
        char spent[32];
        std::snprintf(spent, sizeof spent, "%.1f s", seconds);
        return counted(measured_, "slot") + " measured in " + spent + ", " +
               std::to_string(measurement_cache_) + " measured before" +
               (measurements.not_remembered().empty() && (measured_ == 0 || measurements.saved() > 0)
                    ? "; saved in " + measurements.measurement_cache().folder()
                    : "") +
               '\n';
    }

    Json json_of(const std::vector<OpenChoice>& open, const resolver::Plan& plan,
                 const Measurements& measurements, double seconds) const {
        Json slots = Json::array();
        for (std::size_t i = 0; i < open.size(); ++i) {
            const auto& use = open[i].use;
            const auto& row = row_of(plan, use);
            slots.push_back({{"slot", use.slot},
                             {"layers", use.layers},
                             {"phase", std::string(name(use.phase))},
                             {"chosen", row.chosen->plugin + "/" + row.chosen->component},
                             {"how", row.how},
                             {"known_before", !fresh_[i]},
                             {"measured", resolver::to_json(*measurements.find(open[i]))}});
        }
        return {{"folder", measurements.measurement_cache().folder()},
                {"seconds", seconds},
                {"layout", layout_.empty() ? Json(nullptr) : Json(layout_)},
                {"slots", slots}};
    }

    const TuneCommand& command_;
    HostInfo host_;
    Job job_;
    runtime::Registry registry_;
    std::string layout_;  // what auto made of batch.layout; empty: it is named
    std::size_t measured_ = 0, measurement_cache_ = 0;
    std::vector<bool> fresh_;  // by open choice: measured now
};

}  // namespace

Action setup_tune(CLI::App& command) {
    const auto options = std::make_shared<TuneCommand>();
    add_job_options(command, options->job);
    command
        .add_option("--slot", options->slots,
                    "only this slot, as attention, normalization.final or linear; may be repeated")
        ->type_name("SLOT")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command.add_flag("--again", options->again, "measure again what was measured before");
    add_json(command, options->json);
    return [options] { return Tune(*options).run(); };
}

}  // namespace switchyard::cli

// switchyard plugins bisect FIRST SECOND: which component makes the losses of two plans part. The first
// plan is run as it stands, with each slot of the second alone, and with all of them: from the same
// weights on the same samples, so that what their first step and their losses differ by comes of what
// was changed.
#include <algorithm>
#include <cmath>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/compare/compare_arms.h"
#include "core/workbench/cli/compare/compare_messages.h"
#include "core/workbench/cli/compare/plan_difference.h"
#include "core/workbench/cli/compare/started_arms.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/cli/temporary_folder.h"
#include "core/workbench/compare/experiment/arm_list.h"
#include "core/workbench/compare/experiment/experiment.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct BisectOptions {
    JobOptions first;
    std::string second;
    std::int64_t steps = 20;
    double timeout = 300.0;  // seconds, of one answer
    JsonOption json;
};

// One change of the first plan.
struct Change {
    std::string name;  // "attention", or "all of them"
    const SlotDifference* slot = nullptr;
    const compare::ArmResult* result = nullptr;  // nothing: it cannot be run, `reason` says why
    std::string reason;
};

class Bisection {
public:
    explicit Bisection(const BisectOptions& options)
        : options_(options),
          host_(machine::this_host(machine::Look::with_devices)),
          first_(plan_of(options.first.config)),
          second_(plan_of(options.second)),
          guard_(folder_.path()) {
        refuse_unlike();
        differences_ = plan_differences(*first_, *second_);
    }

    int run() {
        if (differences_.empty()) {
            write_json(options_.json, report({}, Exit::fine));
            if (!options_.json.on_stdout())
                std::cout
                    << "the two plans are the same: each slot has the same component with the same options\n";
            return Exit::fine;
        }
        stop_.note();
        checked_ = check_arms(arms_request(), host_);
        if (!checked_.places.front().arm)
            throw Failure(options_.first.config + ": " + checked_.places.front().unavailable);
        comparison_ = experiment();
        show_progress("");
        const auto& base = comparison_.arms.front();
        if (comparison_.stopped) return stop_.exit_code();
        if (!base.ok()) throw Failure(options_.first.config + ": " + base.reason, Exit::run_failed);
        const auto changes = changes_found();
        const int code = exit_code(changes);
        write_json(options_.json, report(changes, code));
        if (!options_.json.on_stdout()) print(changes);
        return code;
    }

private:
    std::unique_ptr<PlannedJob> plan_of(const std::string& config) const {
        auto job = options_.first;
        job.config = config;
        return plan_job(job, {.missing = Missing::leave});
    }

    void refuse_unlike() const {
        for (const auto* job : {first_.get(), second_.get()})
            if (!job->config.layers.empty())
                throw Failure(
                    (job == first_.get() ? options_.first.config : options_.second) +
                    ": [[layer]] gives single layers components of their own; expected whole slots, which "
                    "are taken from one plan to the other");
        auto unlike = compare::unfair_differences(first_->config, second_->config);
        if (unlike.empty()) return;
        throw Failure(options_.first.config + " and " + options_.second +
                      " train different things; expected plans of the same model, data and batch\n    " +
                      joined(unlike, "\n    "));
    }

    // What is wrong with a value is told with the file that it came from.
    compare::ArmSpec changed_arm(std::string name, std::vector<std::string> overrides = {}) const {
        compare::ArmSpec made;
        made.name = std::move(name);
        made.overrides = std::move(overrides);
        if (!made.overrides.empty()) made.written_in = options_.second;
        return made;
    }

    ArmsRequest arms_request() const {
        ArmsRequest request;
        request.job = options_.first;
        request.rungs_from = options_.second;
        request.rungs.push_back(changed_arm("first"));
        auto all = changed_arm("all of them");
        for (const auto& difference : differences_) {
            request.rungs.push_back(changed_arm(difference.slot, difference.overrides));
            all.overrides.insert(all.overrides.end(), difference.overrides.begin(),
                                 difference.overrides.end());
        }
        if (differences_.size() > 1) request.rungs.push_back(std::move(all));
        return request;
    }

    compare::Comparison experiment() {
        const ArmMessages messages(checked_,
                                   {options_.first, folder_.path(), compare::Operation::step, 0, "", 0, 0});
        const auto stop = [this] { return static_cast<bool>(stop_); };
        // What warms up are steps like others, two at least.
        const auto behind = std::max<std::int64_t>(1, options_.steps - 2);
        auto settings = one_turn_each(messages, behind, options_.timeout, stop);
        settings.reference_arm = checked_.reference_arm;
        settings.progress = [](const compare::ExperimentProgress& at) {
            show_progress(at.text, at.share, at.seconds_left);
        };
        auto found = compare::run_experiment(start_arms(checked_.arms, guard_, stop), settings);
        for (auto& arm : found.arms)
            arm.losses.resize(std::min(arm.losses.size(), static_cast<std::size_t>(options_.steps)));
        return found;
    }

    std::vector<Change> changes_found() const {
        std::vector<Change> changes;
        for (std::size_t at = 1; at < checked_.places.size(); ++at) {
            Change change;
            if (at <= differences_.size()) change.slot = &differences_[at - 1];
            change.name = change.slot == nullptr ? "all of them" : change.slot->slot;
            const auto& place = checked_.places[at];
            if (!place.arm) {
                change.reason = "cannot serve the rest of the first plan: " + place.unavailable;
            } else {
                change.result = &comparison_.arms[*place.arm];
                if (!change.result->ok()) change.reason = change.result->reason;
            }
            changes.push_back(std::move(change));
        }
        return changes;
    }

    // How far the losses of a step are from those of the first plan; NaN: one of them has no such step.
    double apart(const Change& change, std::size_t step) const {
        const auto& base = comparison_.arms.front().losses;
        const auto& arm = change.result->losses;
        if (step >= base.size() || step >= arm.size()) return std::nan("");
        return std::abs(arm[step] - base[step]);
    }
    std::size_t last_step() const { return comparison_.arms.front().losses.size() - 1; }

    static bool is_wrong(const Change& change) {
        return change.result != nullptr && change.result->ok() &&
               !compare::too_far(change.result->drift, change.result->allowed).empty();
    }

    std::string finding(const Change& change) const {
        if (!change.reason.empty()) return change.reason;
        if (const auto what = compare::too_far(change.result->drift, change.result->allowed); !what.empty())
            return "WRONG: at the first step " + what;
        return std::isfinite(change.result->allowed.loss)
                   ? "the first step is the same within rounding"
                   : "of reduced accuracy: its first step is not judged";
    }

    int exit_code(const std::vector<Change>& changes) const {
        bool failed = false;
        for (const auto& change : changes) {
            if (is_wrong(change)) return Exit::numerics;
            failed = failed || !change.reason.empty();
        }
        return failed ? Exit::run_failed : Exit::fine;
    }

    // Of the slots alone, the one with which losses part most.
    const Change* farthest(const std::vector<Change>& changes) const {
        const Change* most = nullptr;
        for (const auto& change : changes) {
            if (change.slot == nullptr || change.result == nullptr || !change.result->ok()) continue;
            if (std::isnan(apart(change, last_step()))) return &change;
            if (most == nullptr || apart(change, last_step()) > apart(*most, last_step())) most = &change;
        }
        return most;
    }

    void print(const std::vector<Change>& changes) const {
        const auto& losses = comparison_.arms.front().losses;
        std::cout << options_.first.config << " with the components of " << options_.second << ", "
                  << counted(losses.size(), "step") << "; its loss goes from "
                  << base::digits(losses.front(), 6) << " to " << base::digits(losses.back(), 6) << "\n\n";
        Table table({"change", "loss of the first step", "of the last", "outputs", "gradients"});
        const auto off = [&](const Change& change, std::size_t step) {
            return base::scientific(apart(change, step));
        };
        for (const auto& change : changes) {
            if (change.result != nullptr && change.result->ok())
                table.row({change.name, "+- " + off(change, 0), "+- " + off(change, last_step()),
                           base::scientific(change.result->drift.output),
                           base::scientific(change.result->drift.gradient)});
            else
                table.row({change.name, "-", "-", "-", "-"});
            if (change.slot != nullptr) table.note(change.slot->first + " -> " + change.slot->second);
            table.note(finding(change),
                       is_wrong(change) || !change.reason.empty() ? Color::red : Color::green);
        }
        std::cout << table.render();
        if (const auto* most = farthest(changes))
            std::cout << "\nLosses part most with " << most->name << ": by " << off(*most, last_step())
                      << " after " << counted(losses.size(), "step") << ".\n";
    }

    Json report(const std::vector<Change>& changes, int code) const {
        Json list = Json::array();
        for (const auto& change : changes) {
            const bool ran = change.result != nullptr && change.result->ok();
            const auto value = [&](double number) {
                return ran ? base::number_or_null(number) : Json(nullptr);
            };
            list.push_back(
                {{"change", change.name},
                 {"first", change.slot == nullptr ? "" : change.slot->first},
                 {"second", change.slot == nullptr ? "" : change.slot->second},
                 {"overrides", change.slot == nullptr ? std::vector<std::string>{} : change.slot->overrides},
                 {"wrong", is_wrong(change)},
                 {"finding", finding(change)},
                 {"first_loss_apart", ran ? value(apart(change, 0)) : Json(nullptr)},
                 {"last_loss_apart", ran ? value(apart(change, last_step())) : Json(nullptr)},
                 {"output_drift", ran ? value(change.result->drift.output) : Json(nullptr)},
                 {"gradient_drift", ran ? value(change.result->drift.gradient) : Json(nullptr)}});
        }
        const auto* most = changes.empty() ? nullptr : farthest(changes);
        return {{"first", options_.first.config},
                {"second", options_.second},
                {"steps", changes.empty() ? 0 : static_cast<std::int64_t>(last_step() + 1)},
                {"losses", changes.empty() ? Json::array() : losses_json()},
                {"changes", list},
                {"parts_most_with", most == nullptr ? Json(nullptr) : Json(most->name)},
                {"exit_code", code}};
    }

    Json losses_json() const {
        Json list = Json::array();
        for (const double loss : comparison_.arms.front().losses) list.push_back(base::number_or_null(loss));
        return list;
    }

    const BisectOptions& options_;
    train::StopSignal stop_;
    HostInfo host_;
    std::unique_ptr<PlannedJob> first_, second_;
    std::vector<SlotDifference> differences_;
    CheckedArms checked_;
    compare::Comparison comparison_;
    TemporaryFolder folder_;
    compare::ArmGuard guard_;
};

}  // namespace

Action setup_plugins_bisect(CLI::App& command) {
    const auto options = std::make_shared<BisectOptions>();
    command.add_option("FIRST", options->first.config, "configuration whose plan is taken as it is")
        ->required()
        ->type_name("");
    command.add_option("SECOND", options->second, "configuration of the same model, with other components")
        ->required()
        ->type_name("");
    add_overrides(command, options->first, "a value of both configurations");
    add_number(command, "--steps", options->steps, "steps of training whose losses are compared (20)", "N",
               whole_number(1, 100000));
    add_number(command, "--timeout", options->timeout, "longest time for one answer of a training", "SECONDS",
               number(1e-3, 1e6))
        ->capture_default_str();
    add_json(command, options->json);
    return [options] { return Bisection(*options).run(); };
}

}  // namespace switchyard::cli

#include "core/workbench/cli/compare_arms.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "core/kernel/base/child_process.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/auto_choice.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/foreign_config.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plan_text.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/cli/spin.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/model/weights/huggingface_config.h"

namespace switchyard::cli {
namespace {

std::string indented(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    std::string result = "    ";
    for (const char c : text) {
        result += c;
        if (c == '\n') result += "    ";
    }
    return result + '\n';
}

// Who serves each slot, in the order of the plan; what serves several layers or phases alike once.
std::string chosen_text(const resolver::Plan& plan) {
    std::vector<std::string> list;
    for (const auto& row : plan.rows) {
        auto one = std::string(row.use.slot) + " " + row.chosen->plugin + "/" + row.chosen->component;
        if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    }
    return joined(list, ", ");
}

// The configuration of an arm, planned on this machine; or nothing, and why.
std::optional<config::Config> plan_arm(const JobOptions& options, const HostInfo& host, Purpose purpose,
                                       std::string& problem, std::string& chosen) {
    try {
        auto job = load_job(options, host);
        set_phases(job.config, purpose);
        runtime::Registry registry(std::move(job.records));
        // Before any arm runs: all arms then choose by the same times.
        machine::install_cpu_allocator(job.config.runtime.allocator);
        set_threads(job.config.runtime.threads);
        const auto plan = model::make_plan(job.config, registry, host,
                                           auto_choice(job.config, registry, host, Missing::measure));
        if (plan.ok()) {
            std::cerr << plan_warnings(plan);
            chosen = chosen_text(plan);
            return std::move(job.config);
        }
        problem = plan_problems(plan);
    } catch (const Failure& failure) {
        problem = failure.what();
    }
    return std::nullopt;
}

class Checker {
public:
    Checker(const ArmsRequest& request, const HostInfo& host) : request_(request), host_(host) {}

    CheckedArms run() {
        const auto job = load_job(request_.job, host_);  // what is wrong for all arms is reported once
        set_up_runtime(job.config.runtime);
        config::LoadRequest tables;
        tables.path = request_.job.config;
        tables.overrides = request_.job.overrides;
        tables.preset_dirs = preset_dirs();
        tables.read_model_folder = model::read_model_folder;
        const auto named = config::load_arms(tables);
        if (is_foreign(request_.job, job.files)) refuse_foreign_arms(named);
        auto list = compare::list_arms(request_.written, named, request_.least);
        if (!list.problems.empty()) throw Failure(joined(list.problems, "\n"));
        if (request_.most > 0 && list.arms.size() > request_.most)
            throw Failure("there are " + counted(list.arms.size(), "arm") +
                          ", which share the time of --time; --yes compares "
                          "them all, --one-at-a-time takes the values of --vary one by one");
        checked_.arms = std::move(list.arms);
        std::string problems;
        for (auto& arm : checked_.arms) {
            const auto problem = check(arm);
            if (!problem.empty()) problems += "arm \"" + arm.name + "\":\n" + indented(problem), ++faulty_;
        }
        if (faulty_ > 0)
            throw Failure("nothing was run: " + std::to_string(faulty_) + " of " +
                          counted(checked_.arms.size(), "arm") + " cannot be compared\n" + problems);
        return std::move(checked_);
    }

private:
    std::string check(compare::ArmSpec& arm) {
        auto& chosen = checked_.chosen.emplace_back();
        if (arm.external()) {
            chosen = joined(arm.program, " ");
            return base::program_problem(arm.program.front(), arm.folder);
        }
        auto options = request_.job;
        options.overrides.insert(options.overrides.end(), arm.overrides.begin(), arm.overrides.end());
        std::string problem;
        auto config = plan_arm(options, host_, request_.purpose, problem, chosen);
        if (!config) return problem;
        arm.environment = spin_environment(config->runtime.spin);
        if (!first_) {
            first_ = true;
            checked_.reference_arm = static_cast<std::size_t>(&arm - checked_.arms.data());
            checked_.config = std::move(*config);
            return "";
        }
        arm.differs = compare::unfair_differences(checked_.config, *config, request_.operation);
        if (arm.differs.empty() || request_.force) return "";
        return "is not a fair comparison with \"" + checked_.arms[checked_.reference_arm].name + "\":\n    " +
               joined(arm.differs, "\n    ") +
               "\n--force compares them nevertheless, and every output says so";
    }

    const ArmsRequest& request_;
    const HostInfo& host_;
    CheckedArms checked_;
    bool first_ = false;
    std::size_t faulty_ = 0;
};

}  // namespace

CheckedArms check_arms(const ArmsRequest& request, const HostInfo& host) {
    return Checker(request, host).run();
}

}  // namespace switchyard::cli

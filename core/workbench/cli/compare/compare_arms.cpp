#include "core/workbench/cli/compare/compare_arms.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <set>
#include <utility>

#include "core/kernel/base/child_process.h"
#include "core/kernel/base/problem_lines.h"
#include "core/kernel/config/mesh_checks.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/resolver/measured.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/compare/generated_pass.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/job/foreign_config.h"
#include "core/workbench/cli/job/plan_text.h"
#include "core/workbench/cli/job/start_check.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/runtime_setup.h"
#include "core/workbench/cli/spin.h"
#include "core/workbench/compare/experiment/alike.h"
#include "core/workbench/compare/experiment/arm_keys.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/model/weights/huggingface_config.h"
#include "core/workbench/train/data_parallel.h"

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

// Who serves each slot, in the order of the plan; what serves several layers or phases alike once. `phase`:
// of that one alone.
std::string chosen_text(const resolver::Plan& plan, std::optional<Phase> phase = std::nullopt) {
    std::vector<std::string> list;
    for (const auto& row : plan.rows) {
        if (phase && row.use.phase != *phase) continue;
        auto one = std::string(row.use.slot) + " " + row.chosen->plugin + "/" + row.chosen->component;
        if (std::find(list.begin(), list.end(), one) == list.end()) list.push_back(std::move(one));
    }
    return joined(list, ", ");
}

// The same of a model that generates: prefill and decode apart.
std::string chosen_to_generate(const resolver::Plan& plan) {
    std::string text;
    for (const Phase phase : {Phase::prefill, Phase::decode})
        base::add_item(text, std::string(name(phase)) + ": " + chosen_text(plan, phase), "; ");
    return text;
}

// The first of several problems, without the place of what was set, which is the ladder's; and why the first
// backend that was asked for refuses.
std::string first_reason(const std::string& problem) {
    constexpr std::string_view sign = "error: ", asked = "\n    asked for: ", indent = "\n    ";
    auto line = problem.substr(0, problem.find('\n'));
    if (const auto at = line.find(sign); at != std::string::npos) line.erase(0, at + sign.size());
    const auto request = problem.find(asked);
    const auto why = request == std::string::npos ? request : problem.find(indent, request + 1);
    if (why == std::string::npos) return line;
    const auto from = why + indent.size();
    return line + "; " + problem.substr(from, problem.find('\n', from) - from);
}

// An arm's configuration, planned on this machine; or why it cannot be.
struct PlannedArm {
    std::optional<config::Config> config;
    std::string chosen;    // who serves its slots
    std::string problem;   // where there is no configuration
    bool mistaken = true;  // the problem is no matter of this machine
};

// `measured`: the times by which `auto` chose for the arms before; what it goes by for this one is added, as
// its warnings are to those `told`.
PlannedArm plan_arm(const JobOptions& options, const HostInfo& host, const ArmsRequest& request,
                    std::vector<resolver::Measurement>& measured, std::set<std::string>& told) {
    PlannedArm arm;
    try {
        auto job = load_job(options, host);
        const bool generates = request.purpose == Purpose::generation;
        if (generates) arm.problem = generation_problem(job.config);
        if (!arm.problem.empty()) return arm;
        set_phases(job.config, request.purpose);
        runtime::Registry registry(std::move(job.records));
        // Before any arm runs: all arms then choose by the same times.
        machine::install_cpu_allocator(job.config.runtime.allocator);
        set_threads(job.config.runtime.threads);
        if (request.purpose == Purpose::as_configured)
            job.config.distributed.part = {0, job.config.mesh.tensor};  // what each rank runs
        auto choice = auto_choice(job.config, registry, host, Missing::measure, measured);
        // As of a job (planned_job.cpp): who is not asked for is asked only where something is wrong.
        choice.explain = false;
        auto plan = model::make_plan(job.config, registry, host, choice);
        if (!plan.ok()) {
            choice.explain = true;
            plan = model::make_plan(job.config, registry, host, choice);
        }
        for (const auto& row : plan.rows)
            if (row.measured) resolver::take_up(measured, *row.measured);
        job.config.distributed.part = {};
        if (!plan.ok())
            arm.problem = plan_problems(plan);
        else if (request.further_problem)
            arm.problem = request.further_problem(job.config, plan);
        arm.mistaken = false;
        if (!arm.problem.empty()) return arm;
        std::cerr << plan_warnings(plan, told);
        arm.chosen = generates ? chosen_to_generate(plan) : chosen_text(plan);
        arm.config = std::move(job.config);
    } catch (const Failure& failure) {
        arm.problem = failure.what();
    }
    return arm;
}

// Whether the same problems are found in what both read.
bool same_inputs(const config::Config& a, const config::Config& b) {
    return a.data == b.data && a.task == b.task && a.train.weights == b.train.weights && a.model == b.model &&
           a.lora == b.lora && a.groups == b.groups && a.mesh == b.mesh && a.run.phases == b.run.phases;
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
        if (!request_.rungs.empty()) return rungs(job.files);
        if (is_foreign(request_.job, job.files)) refuse_foreign_arms(named);
        auto list = compare::list_arms(request_.written, named, request_.least);
        if (!list.problems.empty()) throw Failure(joined(list.problems, "\n"));
        refuse_without_effect(list.arms, "arm");
        refuse_too_many(list.arms.size(), "arm", ", --one-at-a-time takes the values of --vary one by one");
        external_ =
            std::ranges::any_of(list.arms, [](const compare::ArmSpec& arm) { return arm.external(); });
        for (auto& arm : list.arms) {
            const auto problem = check(arm);
            if (!problem.empty()) complain(arm.name, problem);
            checked_.arms.push_back(std::move(arm));
        }
        if (external_ && base_ranks_ > 1)
            complain(checked_.arms[checked_.reference_arm].name,
                     "ranks: external arms load the batches of the first configuration, of which a rank has "
                     "a part; let one of a single rank come first");
        if (faulty_ > 0) fail(checked_.arms.size(), "arm");
        return std::move(checked_);
    }

private:
    void refuse_too_many(std::size_t count, const std::string& what, const std::string& another_way) const {
        if (request_.most > 0 && count > request_.most)
            throw Failure("there are " + counted(count, what) +
                          ", which share the time of --time; --yes compares them all" + another_way);
    }

    // Who gives a value means it to count.
    void refuse_without_effect(const std::vector<compare::ArmSpec>& arms, const std::string& what) const {
        std::vector<std::string> problems;
        for (std::size_t i = 0; i < request_.job.overrides.size(); ++i) {
            const auto key = config::override_key(request_.job.overrides[i]);
            const bool counts = std::ranges::any_of(arms, [&](const compare::ArmSpec& arm) {
                return !arm.external() &&
                       std::ranges::find(arm.overrides, key, config::override_key) == arm.overrides.end();
            });
            if (!counts)
                problems.push_back(config::place_of_override(i) + ": " + key +
                                   " would change nothing, for every " + what +
                                   " has a value of its own; leave it out here, or there");
        }
        if (!problems.empty()) throw Failure(joined(problems, "\n"));
    }

    // Those that can be served here; of the others why not.
    CheckedArms rungs(std::vector<std::string> files) {
        refuse_without_effect(request_.rungs, "rung");
        refuse_too_many(request_.rungs.size(), "rung", "");
        files.push_back(request_.rungs_from);
        std::vector<config::ArmConfig> named;
        for (const auto& arm : request_.rungs)
            named.push_back(
                {.name = arm.name, .set = {}, .program = arm.program, .folder = {}, .origin = {}});
        if (is_foreign(request_.job, files)) refuse_foreign_arms(named);
        for (auto arm : request_.rungs) {
            auto& place = checked_.places.emplace_back();
            batch_ = 0, learning_rate_ = 0.0;
            auto problem = check(arm);
            if (!problem.empty() && mistaken_) complain(arm.name, problem);
            if (problem.empty() && arm.external() && !first_)
                problem = "no rung before it is a configuration, whose weights and batches it would load";
            place.batch = batch_;
            place.learning_rate = learning_rate_;
            if (!problem.empty()) {
                checked_.chosen.pop_back();
                place.unavailable = first_reason(problem);
                continue;
            }
            place.arm = checked_.arms.size();
            place.chosen = checked_.chosen.back();
            checked_.arms.push_back(std::move(arm));
        }
        if (faulty_ > 0) fail(request_.rungs.size(), "rung");
        return std::move(checked_);
    }

    // What is wrong with several alike is told once.
    void complain(const std::string& name, const std::string& problem) {
        ++faulty_;
        compare::add_alike(complaints_, name, problem);
    }

    [[noreturn]] void fail(std::size_t all, const std::string& what) const {
        std::string text;
        for (const auto& [problem, names] : complaints_)
            text += what + (names.size() > 1 ? "s \"" : " \"") + joined(names, "\", \"") + "\":\n" +
                    indented(problem);
        throw Failure("nothing was run: " + std::to_string(faulty_) + " of " + counted(all, what) +
                      " cannot be compared\n" + text);
    }

    // What the arm would come upon in the files that it reads, of which the first rows are looked at, once
    // for all arms that read the same.
    std::string input_problem(const config::Config& config) {
        for (const auto& [inputs, problem] : looked_at_)
            if (same_inputs(inputs, config)) return problem;
        const auto reading = request_.purpose == Purpose::as_configured ? Reading::to_train
                             : request_.reads_data                      ? Reading::samples
                                                                        : Reading::nothing;
        auto problem = base::problem_lines(input_problems(config, reading));
        looked_at_.emplace_back(config, problem);
        return problem;
    }

    // What a rung sets stands for an external one too: it is told of it.
    std::string check_external(compare::ArmSpec& arm) {
        mistaken_ = false;
        if (const auto problem = base::program_problem(arm.program.front(), arm.folder); !problem.empty())
            return problem;
        if (request_.operation == compare::Operation::epoch || request_.operation == compare::Operation::data)
            return "programs take steps, forwards or prompts, in batches that they are given; expected "
                   "--operation step, forward or generate";
        if (request_.rungs.empty()) return "";
        try {
            const auto config = load_job(job_of(arm), host_).config;
            note(config);
            checked_.told.insert_or_assign(checked_.arms.size(), config);
            if (!first_) return "";
            arm.own_batches = of_steps() && other_batches(config);
            arm.differs = compare::unfair_differences(checked_.config, config, request_.operation, true);
            const auto problem = unfairness(arm, config);
            mistaken_ = !problem.empty();
            return problem;
        } catch (const Failure& failure) {
            mistaken_ = true;
            return failure.what();
        }
        return "";
    }

    void note(const config::Config& config) {
        batch_ = config.batch.size * (trains(request_.operation) ? config.train.grad_accumulation_steps : 1);
        learning_rate_ = config.optimizer.lr;
    }

    // Of a ladder: a forward passes over the same samples in whatever batches.
    bool of_steps() const {
        return !request_.rungs.empty() && request_.operation == compare::Operation::step;
    }

    bool other_batches(const config::Config& config) const {
        const auto& base = checked_.config;
        return config.batch.size != base.batch.size || config.batch.tokens != base.batch.tokens ||
               config.train.grad_accumulation_steps != base.train.grad_accumulation_steps;
    }

    // Of an epoch: which samples stand in its steps.
    bool other_composition(const config::Config& config) const {
        const auto& base = checked_.config;
        return other_batches(config) || config.data_loader.backend != base.data_loader.backend ||
               config.batch.layout != base.batch.layout;
    }

    // A step of as many ranks has other samples than one of the base. Those that have a model together have
    // the same samples.
    bool other_steps(const config::Config& config, std::int64_t ranks) const {
        const auto& base = checked_.config;
        const auto batches = ranks / (config.mesh.tensor * config.mesh.pipeline);
        const auto base_batches = base_ranks_ / (base.mesh.tensor * base.mesh.pipeline);
        return config.batch.size * batches != base.batch.size * base_batches ||
               config.batch.tokens * batches != base.batch.tokens * base_batches ||
               config.train.grad_accumulation_steps != base.train.grad_accumulation_steps;
    }

    // Inference runs whole models, whatever trained them.
    std::string mesh_problem_of(const compare::ArmSpec& arm, const config::Config& config) const {
        if (request_.purpose != Purpose::as_configured) return "";
        const auto problem = config::mesh_problem(config, arm.ranks);
        return problem.empty() ? "" : problem + "; among the values of an arm ranks=N says how many";
    }

    // Processors among the ranks of an arm; what several ranks cannot do.
    std::string share_out(compare::ArmSpec& arm, const config::Config& config) {
        if (auto problem = mesh_problem_of(arm, config); !problem.empty()) {
            mistaken_ = true;
            return problem;
        }
        const auto told = config.runtime.threads;
        arm.threads = told > 0 ? told : std::max<std::int64_t>(1, host_.cores / arm.ranks);
        if (arm.ranks == 1) return "";
        auto problems = train::rank_problems(config);
        if (request_.operation != compare::Operation::step)
            problems.emplace_back(
                "ranks: only the steps of a training are shared; expected --operation step");
        if (config.run.device != Device::cpu)
            problems.emplace_back(
                "ranks: arms of several ranks run on the CPU; expected run.device = \"cpu\"");
        mistaken_ = !problems.empty();
        if (arm.ranks * arm.threads > host_.cores)
            problems.push_back("ranks: " + std::to_string(arm.ranks) + " ranks with " +
                               counted(static_cast<std::size_t>(arm.threads), "thread") +
                               " each need more than the " +
                               counted(static_cast<std::size_t>(host_.cores), "processor") +
                               " that there are; expected fewer ranks, or a smaller runtime.threads");
        return joined(problems, "\n");
    }

    // "--vary #2": of the second of several. All differ, for texts are kept by them. What a ladder or a stack
    // makes of several places has no number: it is told by its key, of which there is one.
    std::string place_of(const compare::ArmSpec& arm, std::size_t value) const {
        if (arm.overrides.size() < 2) return arm.written_in;
        if (!request_.rungs.empty() || arm.written_in == "--stacks")
            return arm.written_in + ", " + config::override_key(arm.overrides[value]);
        return arm.written_in + (arm.levels.empty() ? ", value " : " #") + std::to_string(value + 1);
    }

    // What is wrong with a value is told with where it was written, which is not always --set.
    JobOptions job_of(const compare::ArmSpec& arm) const {
        auto options = request_.job;
        if (arm.written_in.empty()) {
            const auto own = compare::without_arm_keys(arm.overrides);
            options.overrides.insert(options.overrides.end(), own.begin(), own.end());
            return options;
        }
        options.overrides.clear();
        for (std::size_t i = 0; i < request_.job.overrides.size(); ++i)
            options.implied.push_back({config::place_of_override(i), request_.job.overrides[i]});
        for (std::size_t i = 0; i < arm.overrides.size(); ++i)
            for (const auto& one : compare::without_arm_keys({arm.overrides[i]}))
                options.implied.push_back({place_of(arm, i), one});
        return options;
    }

    std::string check(compare::ArmSpec& arm) {
        auto& chosen = checked_.chosen.emplace_back();
        mistaken_ = true;
        if (auto wrong = compare::read_arm_keys(arm); !wrong.empty()) return wrong;
        if (arm.external()) {
            chosen = joined(arm.program, " ");
            return check_external(arm);
        }
        auto options = job_of(arm);
        auto planned = plan_arm(options, host_, request_, checked_.measured, told_);
        mistaken_ = planned.mistaken;
        if (!planned.config) return planned.problem;
        if (auto problem = share_out(arm, *planned.config); !problem.empty()) return problem;
        if (arm.ranks > 1 && planned.config->runtime.threads != arm.threads) {
            // Who is fastest on as many threads as a rank has.
            options.implied.push_back({"ranks", "runtime.threads=" + std::to_string(arm.threads)});
            planned = plan_arm(options, host_, request_, checked_.measured, told_);
            mistaken_ = planned.mistaken;
            if (!planned.config) return planned.problem;
        }
        chosen = planned.chosen;
        auto& config = planned.config;
        note(*config);
        arm.environment = spin_environment(config->runtime.spin);
        auto unread = input_problem(*config);
        if (!first_ && !unread.empty()) {
            mistaken_ = true;
            return unread;
        }
        if (!first_) {
            first_ = true;
            checked_.reference_arm = checked_.arms.size();
            checked_.config = std::move(*config);
            base_ranks_ = arm.ranks;
            return "";
        }
        // What is compared by sample may have other samples in a step.
        const bool other_ranks = arm.ranks != base_ranks_;
        arm.differs = compare::unfair_differences(checked_.config, *config, request_.operation,
                                                  !request_.rungs.empty() || other_ranks);
        arm.own_batches = (of_steps() && other_batches(*config)) ||
                          (other_ranks && other_steps(*config, arm.ranks)) ||
                          (request_.operation == compare::Operation::epoch && other_composition(*config));
        const auto unfair = unfairness(arm, *config);
        mistaken_ = !unfair.empty() || !unread.empty();
        return unread + (unread.empty() || unfair.empty() ? "" : "\n") + unfair;
    }

    // Why it may not be compared with the reference arm, or "".
    std::string unfairness(const compare::ArmSpec& arm, const config::Config& config) const {
        if (arm.differs.empty() || request_.force) return "";
        return "is not a fair comparison with \"" + checked_.arms[checked_.reference_arm].name + "\":\n    " +
               joined(arm.differs, "\n    ") + "\n" + way_out(arm, config);
    }

    // Where only batches differ a pass over the same samples compares them fairly, which neither ranks nor
    // other programs make.
    std::string way_out(const compare::ArmSpec& arm, const config::Config& config) const {
        const bool can_pass = !external_ && !arm.external() && arm.ranks == 1 && base_ranks_ == 1;
        const bool in_passes =
            request_.operation == compare::Operation::step && can_pass &&
            compare::unfair_differences(checked_.config, config, compare::Operation::epoch, false).empty();
        return (in_passes ? "--operation epoch compares passes over the same samples, in whatever batches; "
                          : "") +
               std::string("--force compares them nevertheless, and every output says so");
    }

    const ArmsRequest& request_;
    const HostInfo& host_;
    CheckedArms checked_;
    bool first_ = false;
    bool external_ = false;  // some arm of the list is another program
    bool mistaken_ = false;  // what `check` found last is no matter of this machine
    std::int64_t base_ranks_ = 1;
    std::int64_t batch_ = 0;  // of what `check` looked at last
    double learning_rate_ = 0.0;
    std::vector<std::pair<config::Config, std::string>> looked_at_;
    std::set<std::string> told_;  // warnings of plans
    std::vector<compare::Alike> complaints_;
    std::size_t faulty_ = 0;
};

}  // namespace

CheckedArms check_arms(const ArmsRequest& request, const HostInfo& host) {
    return Checker(request, host).run();
}

}  // namespace switchyard::cli

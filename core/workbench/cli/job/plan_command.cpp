// switchyard plan CONFIG
#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/base/problem_lines.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/resolver/measured.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/kernel/resolver/saved_plan.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/layout_choice.h"
#include "core/workbench/cli/job/plan_ranks.h"
#include "core/workbench/cli/job/plan_text.h"
#include "core/workbench/cli/job/ranks_text.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugins_text.h"
#include "core/workbench/data/tokenizers/tokenizer_source.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/scale/stage_plan.h"
#include "core/workbench/train/parameter_groups.h"

namespace switchyard::cli {
namespace {

struct PlanCommand {
    JobOptions job;
    std::string host;
    std::string save;
    std::string saved;
    RanksOptions ranks;
    JsonOption json;
    bool brief = false, verbose = false;
};

machine::DescribedHost host_named(const std::string& wanted) {
    if (wanted.empty()) return {machine::this_host(machine::Look::with_devices), {}, {}};
    auto described = machine::describe(wanted);
    if (!described.host) throw Failure(described.error);
    return described;
}

void need_plugins(const Job& job) {
    const auto usable = std::any_of(job.records.begin(), job.records.end(),
                                    [](const auto& record) { return record.usable(); });
    if (usable) return;
    std::string text =
        job.records.empty() ? "no plugins were found" : "none of the plugins found can be used";
    for (const auto& record : job.records) text += "\n    " + loader::explain(record);
    throw Failure(text + "\n" + searched_places(loader::standard_search_path(job.config.plugins.paths)));
}

std::string hosts_with(Device device) {
    std::vector<std::string> names;
    for (const auto& name : machine::described_host_names()) {
        const auto described = machine::describe(name);
        if (described.host && described.host->first(device) != nullptr) names.push_back(name);
    }
    return joined(names);
}

// Else every slot would say so.
void need_device(const Job& job, const HostInfo& host) {
    if (job.config.run.device == Device::cpu || host.first(job.config.run.device) != nullptr) return;
    const auto device = std::string(name(job.config.run.device));
    const auto& origins = job.config.origins;
    const auto origin = origins.find("run.device");
    throw Failure((origin == origins.end() ? "" : config::to_string(origin->second) + ": ") +
                  "error: run.device: " + host.name + " has no " + device +
                  " device; expected cpu, or --host with one that has (" + hosts_with(job.config.run.device) +
                  ")");
}

void check_saved(const resolver::Plan& plan, const std::string& path) {
    const auto text = base::read_text(path, base::limits::json_bytes);
    if (!text) throw Failure(path + ": error: cannot be read: no such file");
    const auto comparison = compare_with_saved(plan, *text);
    if (!comparison.error.empty()) throw Failure(path + ": error: " + comparison.error);
    if (comparison.differences.empty()) return;
    throw Failure(path + ": error: the plan differs from the saved one:\n    " +
                  joined(comparison.differences, "\n    ") + "\nwith --save " + path +
                  " instead of --saved the current plan is saved");
}

// Is there a slot that could be measured, and is not?
bool is_unmeasured(const resolver::Plan& plan) {
    return std::any_of(plan.rows.begin(), plan.rows.end(), [](const auto& row) {
        return row.how.find(resolver::unmeasured) != std::string::npos;
    });
}

// Of a pipeline: what each of its stages has. Empty: a rank has all layers.
std::vector<std::string> stages_of(const config::Config& config) {
    std::vector<std::string> stages;
    for (std::int64_t stage = 0; config.mesh.pipeline > 1 && stage < config.mesh.pipeline; ++stage)
        stages.push_back(scale::stage_text(config, stage));
    return stages;
}

std::string stages_text(const std::vector<std::string>& stages) {
    std::string text;
    for (std::size_t i = 0; i < stages.size(); ++i)
        text += (i == 0 ? "\nstage " : "stage ") + std::to_string(i) + ": " + stages[i] + "\n";
    return text;
}

int plan(const PlanCommand& options) {
    check_ranks_options(options.ranks);
    const auto described = host_named(options.host);
    const auto& host = *described.host;
    auto job = load_job(options.job, host);
    need_device(job, host);
    need_plugins(job);
    const auto problems = train::stage_problems(job.config);
    if (!problems.empty()) throw Failure(base::problem_lines(problems));
    const auto refused = refused_libraries(job.records);
    runtime::Registry registry(std::move(job.records));
    set_threads(job.config.runtime.threads);
    job.config.distributed.part = {0, job.config.mesh.tensor};  // what each rank runs
    job.config.distributed.stage = {0, job.config.mesh.pipeline};
    const auto layout = decide_layout(job.config, registry, host, Missing::leave);
    auto plan =
        model::make_plan(job.config, registry, host, auto_choice(job.config, registry, host, Missing::leave));
    note_layout(plan, layout);
    if (!plan.ok()) throw Failure(plan_problems(plan) + refused);
    if (!options.saved.empty()) check_saved(plan, options.saved);
    std::optional<scale::ScalePlan> scaled;
    if (options.ranks.asked()) scaled = plan_ranks(options.ranks, job.config, plan, host, described.rates);
    auto json = resolver::to_json(plan);
    if (scaled) json["ranks"] = scale::to_json(*scaled);
    const auto stages = stages_of(job.config);
    if (!stages.empty()) json["stages"] = stages;
    write_json(options.json, json);
    if (!options.save.empty()) write_file(options.save, resolver::saved_plan_text(plan));
    if (options.json.on_stdout()) return Exit::fine;
    std::cout << base::printable(options.job.config) << " on " << host_line(host) << "\n\n"
              << plan_text(plan, options.brief     ? PlanDetail::brief
                                 : options.verbose ? PlanDetail::all
                                                   : PlanDetail::reasons)
              << stages_text(stages) << refused;
    if (scaled) std::cout << '\n' << ranks_text(*scaled);
    const auto tokenizer =
        data::tokenizer_line(data::find_tokenizer(job.config.data, job.config.train.weights));
    if (!tokenizer.empty()) std::cout << "\ntokenizer: " << base::printable(tokenizer) << '\n';
    if (const auto text = unverified_text(plan); !text.empty()) std::cout << '\n' << text;
    if (is_unmeasured(plan))
        std::cout << "\n`switchyard tune " << base::printable_word(options.job.config)
                  << "` measures what auto chooses from\n";
    if (!options.save.empty()) std::cout << "\nsaved in " << options.save << '\n';
    if (!options.saved.empty()) std::cout << "\nthe same as saved in " << options.saved << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_plan(CLI::App& command) {
    const auto options = std::make_shared<PlanCommand>();
    add_job_options(command, options->job);
    add_locked(command, options->job);
    command
        .add_option("--host", options->host,
                    "plan for a described host (a name, or the path of a TOML file) instead of this machine")
        ->type_name("NAME");
    auto* const brief =
        command.add_flag("-b,--brief", options->brief, "only what was chosen and how, not why nothing else");
    command.add_flag("-v,--verbose", options->verbose, "also show requests, options and libraries")
        ->excludes(brief);
    add_ranks_options(command, options->ranks);
    add_json(command, options->json);
    command.add_option("--save", options->save, "write what was chosen to this file")
        ->check(output_file())
        ->type_name("FILE");
    command
        .add_option("--saved", options->saved,
                    "fail if the choice differs from this file, which --save wrote")
        ->type_name("FILE");
    return [options] { return plan(*options); };
}

}  // namespace switchyard::cli

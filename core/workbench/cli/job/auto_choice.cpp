#include "core/workbench/cli/job/auto_choice.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <switchyard/interfaces/torch_types.h>
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/program_paths.h"
#include "core/kernel/resolver/measured.h"
#include "core/workbench/bench/measure/memory.h"
#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/tune.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {
namespace {

std::vector<const resolver::Candidate*> pointers(const std::vector<resolver::Candidate>& candidates) {
    std::vector<const resolver::Candidate*> list;
    for (const auto& candidate : candidates) list.push_back(&candidate);
    return list;
}

std::string subject_of(const OpenChoice& choice) {
    std::vector<resolver::MeasuredCandidate> candidates;
    for (const auto& candidate : choice.candidates)
        candidates.push_back(resolver::identity(candidate, choice.use.config));
    return resolver::subject(resolver::shape_class(choice.use.kind, *choice.use.request), candidates);
}

std::string seconds_text(double seconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f s", seconds);
    return text;
}

void tell(const Measurements& measurements, config::KeepTimes keep, double seconds) {
    std::string text = "auto: timed the candidates for " + counted(measurements.measured(), "kind") +
                       " of request on this host in " + seconds_text(seconds);
    const auto dropped = keep == config::KeepTimes::always ? 0 : measurements.disturbed();
    if (!measurements.not_remembered().empty())
        text += "; could not be saved: " + measurements.not_remembered();
    else if (measurements.saved() > 0)
        text += "; saved in " + measurements.measurement_cache().folder();
    text += "\n";
    if (dropped > 0)
        text += "note: auto: " + disturbed_text(measurements) +
                ": these times hold for this run and are not kept (runtime.keep_times)\n";
    if (measurements.short_of_memory() > 0)
        text += "note: auto: " + short_of_memory_text(measurements) +
                ": these times hold for this run and are not kept\n";
    std::cerr << text;
}

}  // namespace

std::string disturbed_text(const Measurements& measurements) {
    char share[16];
    std::snprintf(share, sizeof share, "%.0f %%", 100.0 * measurements.share_of_others());
    return counted(measurements.disturbed(), "kind") + " of request " +
           (measurements.disturbed() == 1 ? "was" : "were") + " timed while other programs used up to " +
           share + " of the processors";
}

std::string short_of_memory_text(const Measurements& measurements) {
    return "a candidate for " + counted(measurements.short_of_memory(), "kind") +
           " of request is out because there was no memory for it";
}

std::string rank_because(const config::Config& config, const HostInfo& host) {
    if (host.described) return host.name + " is only described";
    if (host.first(config.run.device) == nullptr && config.run.device != Device::cpu) return "run.device";
    if (config.run.deterministic) return "run.deterministic";
    return config.runtime.auto_choice == config::AutoChoice::priority ? "runtime.auto" : "";
}

void set_threads(std::int64_t threads) {
    static const int standard = at::get_num_threads();
    const int wanted = threads > 0 ? static_cast<int>(threads) : standard;
    if (at::get_num_threads() != wanted) at::set_num_threads(wanted);
}

std::vector<OpenChoice> open_choices(const config::Config& config, runtime::Registry& registry,
                                     const HostInfo& host) {
    std::vector<OpenChoice> open;
    resolver::ResolveOptions options;
    options.explain = false;
    options.chooser = [&](const resolver::SlotUse& use,
                          const std::vector<const resolver::Candidate*>& conformant) {
        if (conformant.size() > 1 && resolver::not_measured_because(use.kind, *use.request).empty()) {
            auto& choice = open.emplace_back(OpenChoice{use, {}});
            for (const auto* candidate : conformant) choice.candidates.push_back(*candidate);
        }
        return resolver::by_priority(use, conformant);
    };
    // What nobody serves, as a misspelt name, is told by who plans, and before anything is timed.
    return model::make_plan(config, registry, host, options).ok() ? open : std::vector<OpenChoice>{};
}

MeasurementCache measurement_cache(const config::Config& config, const HostInfo& host) {
    return {machine::standard_cache_folder(),
            host_of_measurements(host, at::get_num_threads(), std::string(name(config.runtime.allocator)))};
}

Measurements::Measurements(const config::Config& config, const HostInfo& host,
                           const std::vector<resolver::Measurement>& given)
    : host_(host), measurement_cache_(cli::measurement_cache(config, host)) {
    chooser_.measurements = measurement_cache_.load(notes_);
    for (const auto& measurement : given) resolver::take_up(chooser_.measurements, measurement);
    chooser_.host = measurement_cache_.host();
}

const resolver::Measurement* Measurements::find(const OpenChoice& choice) const {
    return chooser_.find(choice.use, pointers(choice.candidates));
}

std::vector<bool> Measurements::measure(const std::vector<OpenChoice>& choices, runtime::Registry& registry,
                                        config::KeepTimes keep, bool again) {
    const auto begun = std::chrono::steady_clock::now();
    std::vector<bool> fresh;
    for (const auto& choice : choices) {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
        const auto done = static_cast<double>(fresh.size()), all = static_cast<double>(choices.size());
        show_progress("auto: timing " + choice.use.slot + " of " + choice.use.layers + ", " +
                          std::string(name(choice.use.phase)) + " (" + std::to_string(fresh.size() + 1) +
                          " of " + std::to_string(choices.size()) + ")",
                      done / all, done > 0.0 ? spent.count() * (all - done) / done : 0.0);
        fresh.push_back(measure_one(choice, registry, keep, again));
    }
    show_progress("");
    return fresh;
}

bool Measurements::measure_one(const OpenChoice& choice, runtime::Registry& registry, config::KeepTimes keep,
                               bool again) {
    const auto subject = subject_of(choice);
    const bool known = find(choice) != nullptr;
    if (known && (!again || measured_now_.contains(subject))) return false;
    const c10::Device device(to_device_type(choice.use.request->device));
    bench::HostStopwatch stopwatch([device] { bench::synchronize(device); });
    const auto before = bench::processor_times();
    auto [measurement, lacked_memory] =
        bench::measure(choice.use, choice.candidates, registry, host_, stopwatch);
    const double others = bench::share_of_others(before, bench::processor_times());
    const bool disturbed = others > bench::undisturbed_share;
    disturbed_ += disturbed ? 1 : 0;
    share_of_others_ = std::max(share_of_others_, others);
    short_of_memory_ += lacked_memory ? 1 : 0;
    measurement.host = measurement_cache_.host();
    measurement.date = today();
    if (!lacked_memory && (!disturbed || keep == config::KeepTimes::always)) {
        if (const auto error = measurement_cache_.store(measurement))
            not_remembered_ = *error;
        else
            ++saved_;
    }
    resolver::take_up(chooser_.measurements, std::move(measurement));
    measured_now_.insert(subject);
    return true;
}

resolver::ResolveOptions auto_choice(const std::vector<config::Config>& configs, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing,
                                     const std::vector<resolver::Measurement>& given) {
    resolver::ResolveOptions options;
    if (const auto why = rank_because(configs.front(), host); !why.empty()) {
        options.chooser = resolver::by_rank_because(why);
        return options;
    }
    Measurements measurements(configs.front(), host, given);
    for (const auto& note : measurements.notes()) std::cerr << "note: " << note << '\n';
    if (missing == Missing::measure) {
        const auto begun = std::chrono::steady_clock::now();
        const auto keep = configs.front().runtime.keep_times;
        std::vector<OpenChoice> open;
        for (const auto& config : configs) {
            for (auto& choice : open_choices(config, registry, host))
                if (measurements.find(choice) == nullptr) open.push_back(std::move(choice));
        }
        (void)measurements.measure(open, registry, keep);
        if (measurements.measured() > 0) {
            machine::trim_cpu_cache();
            machine::reset_cpu_peak();
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
            tell(measurements, keep, spent.count());
        }
    }
    options.chooser = measurements.chooser();
    return options;
}

resolver::ResolveOptions auto_choice(const config::Config& config, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing,
                                     const std::vector<resolver::Measurement>& given) {
    return auto_choice(std::vector<config::Config>{config}, registry, host, missing, given);
}

base::Json recorded_slots(const std::string& plan_json) {
    const auto text = base::read_text(plan_json, base::limits::json_bytes).value_or("");
    const auto plan = base::parse_json(text, plan_json).value;
    return plan.is_object() && plan.contains("slots") ? plan.at("slots") : base::Json::array();
}

resolver::Chooser as_recorded(const std::string& plan_json, resolver::Chooser otherwise) {
    const auto slots = recorded_slots(plan_json);
    std::map<std::string, std::string> chosen;  // by "attention encoder.0-5 train"
    try {
        for (const auto& slot : slots) {
            if (slot.at("chosen").is_null()) continue;
            const auto text = [&](const char* key) { return slot.at(key).get<std::string>(); };
            for (const auto& single : resolver::single_slots(text("slot")))
                chosen[single + " " + text("layers") + " " + text("phase")] =
                    slot.at("chosen").at("plugin").get<std::string>() + "/" +
                    slot.at("chosen").at("component").get<std::string>();
        }
    } catch (const nlohmann::json::exception&) {
        return otherwise;
    }
    return [plan_json, chosen = std::move(chosen), otherwise = std::move(otherwise)](
               const resolver::SlotUse& use, const std::vector<const resolver::Candidate*>& conformant) {
        const auto slot = resolver::single_slots(use.slot).front();
        const auto found = chosen.find(slot + " " + use.layers + " " + std::string(name(use.phase)));
        for (std::size_t i = 0; found != chosen.end() && i < conformant.size(); ++i) {
            if (conformant[i]->full_name() != found->second) continue;
            resolver::Choice choice{i, "auto: as in " + plan_json};
            choice.why_not.assign(conformant.size(), "not what the run began with");
            return choice;
        }
        return otherwise(use, conformant);
    };
}

}  // namespace switchyard::cli

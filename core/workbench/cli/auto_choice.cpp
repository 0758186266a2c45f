#include "core/workbench/cli/auto_choice.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <map>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/program_paths.h"
#include "core/kernel/resolver/measured.h"
#include "core/workbench/bench/tune.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/train/progress.h"

namespace switchyard::cli {
namespace {

std::vector<const resolver::Candidate*> pointers(const std::vector<resolver::Candidate>& candidates) {
    std::vector<const resolver::Candidate*> list;
    for (const auto& candidate : candidates) list.push_back(&candidate);
    return list;
}

void tell(const Measurements& measurements, std::size_t classes, double seconds) {
    char spent[32];
    std::snprintf(spent, sizeof spent, "%.1f s", seconds);
    std::cerr << "auto: timed the candidates for " << counted(classes, "kind")
              << " of request on this host in " << spent
              << (measurements.not_remembered().empty()
                      ? "; saved in " + measurements.measurement_cache().folder()
                      : "; could not be saved: " + measurements.not_remembered())
              << '\n';
}

}  // namespace

std::string rank_because(const config::Config& config, const HostInfo& host) {
    if (host.described) return host.name + " is only described";
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
    (void)model::make_plan(config, registry, host, options);
    return open;
}

MeasurementCache measurement_cache(const config::Config& config, const HostInfo& host) {
    return {machine::standard_cache_folder(),
            host_of_measurements(host, at::get_num_threads(), std::string(name(config.runtime.allocator)))};
}

Measurements::Measurements(const config::Config& config, const HostInfo& host)
    : host_(host), measurement_cache_(cli::measurement_cache(config, host)) {
    chooser_.measurements = measurement_cache_.load(notes_);
    chooser_.host = measurement_cache_.host();
}

const resolver::Measurement* Measurements::find(const OpenChoice& choice) const {
    return chooser_.find(choice.use, pointers(choice.candidates));
}

bool Measurements::measure(const OpenChoice& choice, runtime::Registry& registry, bool again) {
    const auto shape_class = resolver::shape_class(choice.use.kind, *choice.use.request);
    const bool known = find(choice) != nullptr;
    if (known && (!again || measured_now_.contains(shape_class))) return false;
    bench::HostStopwatch stopwatch;
    auto measurement = bench::measure(choice.use, choice.candidates, registry, host_, stopwatch);
    measurement.host = measurement_cache_.host();
    measurement.date = today();
    if (const auto error = measurement_cache_.store(measurement)) not_remembered_ = *error;
    std::erase_if(chooser_.measurements, [&](const auto& each) { return each.shape_class == shape_class; });
    chooser_.measurements.push_back(std::move(measurement));
    measured_now_.insert(shape_class);
    return true;
}

resolver::ResolveOptions auto_choice(const std::vector<config::Config>& configs, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing) {
    resolver::ResolveOptions options;
    if (const auto why = rank_because(configs.front(), host); !why.empty()) {
        options.chooser = resolver::by_rank_because(why);
        return options;
    }
    Measurements measurements(configs.front(), host);
    for (const auto& note : measurements.notes()) std::cerr << "note: " << note << '\n';
    if (missing == Missing::measure) {
        const auto begun = std::chrono::steady_clock::now();
        std::size_t classes = 0;
        std::vector<OpenChoice> open;
        for (const auto& config : configs) {
            for (auto& choice : open_choices(config, registry, host))
                if (measurements.find(choice) == nullptr) open.push_back(std::move(choice));
        }
        auto progress = train::Progress::for_stderr();
        for (std::size_t i = 0; i < open.size(); ++i) {
            const auto& use = open[i].use;
            progress.show({"auto", static_cast<std::int64_t>(i), static_cast<std::int64_t>(open.size()), 0.0,
                           -1.0, 0.0,
                           "timing " + use.slot + " of " + use.layers + ", " + std::string(name(use.phase))});
            classes += measurements.measure(open[i], registry) ? 1 : 0;
        }
        progress.finish();
        if (classes > 0) {
            machine::trim_cpu_cache();
            machine::reset_cpu_peak();
            const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
            tell(measurements, classes, spent.count());
        }
    }
    options.chooser = measurements.chooser();
    return options;
}

resolver::ResolveOptions auto_choice(const config::Config& config, runtime::Registry& registry,
                                     const HostInfo& host, Missing missing) {
    return auto_choice(std::vector<config::Config>{config}, registry, host, missing);
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
            chosen[text("slot") + " " + text("layers") + " " + text("phase")] =
                slot.at("chosen").at("plugin").get<std::string>() + "/" +
                slot.at("chosen").at("component").get<std::string>();
        }
    } catch (const nlohmann::json::exception&) {
        return otherwise;
    }
    return [plan_json, chosen = std::move(chosen), otherwise = std::move(otherwise)](
               const resolver::SlotUse& use, const std::vector<const resolver::Candidate*>& conformant) {
        const auto found = chosen.find(use.slot + " " + use.layers + " " + std::string(name(use.phase)));
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

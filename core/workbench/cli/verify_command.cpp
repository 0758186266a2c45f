// switchyard plugins verify: components against the reference, by the suite that a plugin's author runs too.
#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/conformance/verify.h>
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/libtorch_cuda.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/kernel/runtime/plugin_library.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/verify_options.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyCommand {
    std::string plugin;
    std::string component;
    std::string filter;
    std::vector<std::string> dtypes;
    std::vector<std::string> given;  // --option
    std::string device = "cpu";
    std::optional<std::uint64_t> seed;  // of the drawn cases; none: a new one in each run
    std::int64_t drawn = 50;
    std::int64_t shown = 10;
    JsonOption json;
};

template <class Enum>
Enum value_of(const std::string& option, const std::string& text) {
    if (const auto value = parse<Enum>(text)) return *value;
    const std::vector<std::string> known(names<Enum>.begin(), names<Enum>.end());
    const auto near = config::suggest(text, known);
    throw Failure(option + " " + base::quoted(text) + ": expected one of " + joined(known) +
                  (near.empty() ? "" : "; did you mean " + near + "?"));
}

conformance::VerifyOptions options_of(const VerifyCommand& command) {
    conformance::VerifyOptions options;
    options.drawn = command.drawn;
    options.drawn_seed = command.seed ? *command.seed : std::random_device()();
    options.device = value_of<Device>("--device", command.device);
    options.filter = command.filter;
    if (!command.dtypes.empty()) options.dtypes.clear();
    for (const auto& text : command.dtypes) options.dtypes.push_back(value_of<DType>("--dtype", text));
    return options;
}

// The plugins that are meant: one by name or path, or all that are there.
std::vector<loader::PluginRecord> find_plugins(const std::string& wanted, const HostInfo& host) {
    loader::DiscoveryOptions discovery;
    const bool path = wanted.find('/') != std::string::npos;
    if (path) discovery.path.entries = {{wanted, "the command line", true}};
    auto records = loader::discover(discovery, host);
    std::vector<std::string> known;
    for (const auto& record : records) known.push_back(record.display_name());
    if (!path && !wanted.empty())
        std::erase_if(records, [&](const auto& record) { return record.display_name() != wanted; });
    if (!records.empty()) return records;
    const auto near = config::suggest(wanted, known);
    throw Failure(
        (wanted.empty() ? "no plugins were found" : "no plugin is called \"" + base::quoted(wanted) + "\"") +
        (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n" + searched_places(discovery.path));
}

// As a shell takes it.
std::string quoted(const std::string& word) {
    const auto plain = [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_./,:=+@%").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

// The command that runs one drawn case of a component, and it alone.
std::string repetition(const VerifyCommand& command, std::uint64_t seed, const std::string& plugin,
                       const std::string& component, std::int64_t number) {
    std::string text = "switchyard plugins verify " + quoted(plugin) + " --component " + quoted(component);
    for (const auto& dtype : command.dtypes) text += " --dtype " + dtype;
    for (const auto& option : command.given) text += " --option " + quoted(option);
    if (command.device != "cpu") text += " --device " + command.device;
    return text + " --seed " + std::to_string(seed) + " --drawn " + std::to_string(number + 1) +
           " --filter /drawn/" + std::to_string(number) + "/";
}

Json json_of(const conformance::Report& report, Kind kind, const Options& options,
             const std::function<std::string(std::int64_t)>& repeat) {
    Json faults = Json::array();
    for (const auto& fault : report.faults) {
        faults.push_back({{"code", fault.code}, {"case", fault.where}, {"detail", fault.detail}});
        if (fault.drawn >= 0) faults.back()["repeat"] = repeat(fault.drawn);
    }
    return {{"component", report.component},
            {"kind", std::string(name(kind))},
            {"options", resolver::to_json(options)},
            {"cases", report.cases},
            {"drawn", report.drawn},
            {"failed", report.failed},
            {"skipped", report.skipped},
            {"skip_reasons", report.skip_reasons},
            {"worst_ratio", base::number_or_null(report.worst_ratio)},
            {"worst_case", report.worst_case},
            {"faults", faults}};
}

class Verification {
public:
    explicit Verification(const VerifyCommand& command)
        : command_(command),
          options_(options_of(command)),
          host_(machine::this_host(machine::Look::with_devices)) {
        if (options_.device == Device::cpu) return;
        if (host_.first(options_.device) == nullptr) {
            throw Failure("--device " + command.device +
                          ": this machine has none; `switchyard plugins doctor` lists what it has");
        }
        if (const auto error = machine::load_libtorch_cuda(); !error.empty())
            throw Failure("--device " + command.device + ": " + error);
    }

    int run() {
        auto records = find_plugins(command_.plugin, host_);
        runtime::Registry registry(std::move(records));
        given_.emplace(command_.given, components_meant(registry));
        for (const auto& record : registry.records()) verify(registry, record);
        if (components_.empty() && refused_.empty()) {
            throw Failure("no component " + base::quoted(command_.component) + " in " +
                          (command_.plugin.empty() ? "any plugin" : command_.plugin));
        }
        const auto [status, text, code] = verdict();
        write_json(command_.json, {{"status", status},
                                   {"seed", options_.drawn_seed},
                                   {"components", components_},
                                   {"refused", refused_}});
        if (prints()) {
            if (options_.drawn > 0)
                std::cout << "\nseed of the random cases: " << options_.drawn_seed
                          << " (--seed repeats them)\n";
            std::cout << '\n' << text << '\n';
        }
        return code;
    }

private:
    struct Result {
        const char *status, *text;
        int code;
    };

    Result verdict() const {
        if (faults_) return {"faults", "faults were found", Exit::numerics};
        if (!refused_.empty()) return {"refused", "not everything could be verified", Exit::run_failed};
        const bool ran = std::any_of(components_.begin(), components_.end(),
                                     [](const Json& c) { return c.at("cases") > 0; });
        if (!ran) return {"nothing_ran", "no case ran: nothing is known", Exit::cannot_tell};
        return {"ok", "no faults in what ran", Exit::fine};
    }

    bool prints() const { return !command_.json.on_stdout(); }

    bool wanted(const ComponentManifest& component) const {
        const std::string kind(name(component.kind));
        return command_.component.empty() || command_.component == kind ||
               command_.component == kind + "/" + component.id;
    }

    std::vector<const ComponentManifest*> components_meant(const runtime::Registry& registry) const {
        std::vector<const ComponentManifest*> meant;
        for (const auto& record : registry.records()) {
            if (!record.manifest) continue;
            for (const auto& component : record.manifest->components) {
                if (wanted(component)) meant.push_back(&component);
            }
        }
        return meant;
    }

    void verify(runtime::Registry& registry, const loader::PluginRecord& record) {
        const auto loaded = registry.load(record);
        if (const auto* failure = record.failure())
            return refuse(record.display_name(), loader::explain(record), *failure);
        for (const auto& component : loaded) verify(record, component);
    }

    void refuse(const std::string& plugin, const std::string& text, const loader::GateOutcome& gate) {
        if (gate.gate == loader::Gate::disabled || gate.gate == loader::Gate::duplicate) return;
        refused_.push_back({{"plugin", plugin}, {"reason", text}});
        if (prints()) std::cout << paint(Color::red, text) << '\n';
    }

    void verify(const loader::PluginRecord& record, const runtime::LoadedComponent& component) {
        const auto kind = component.manifest->kind;
        conformance::Report report;
        report.component = component.plugin + "/" + component.manifest->id;
        if (!wanted(*component.manifest)) return;
        const auto options = given_->of(*component.manifest);
        const auto known = record.component_failure(kind, component.manifest->id);
        if (!known.empty()) {
            report.failed = 1;
            report.faults.push_back({"accepted_then_threw", "probe", known});
        } else {
            report = conformance::verify(
                {component.plugin, component.entry, component.manifest, &host_, options, ""}, options_);
        }
        faults_ = faults_ || !report.faults.empty();
        const auto repeat = [&](std::int64_t number) {
            const std::string plugin = command_.plugin.empty() ? component.plugin : command_.plugin;
            return repetition(command_, options_.drawn_seed, plugin,
                              std::string(name(kind)) + "/" + component.manifest->id, number);
        };
        components_.push_back(json_of(report, kind, options, repeat));
        if (prints()) print(report, kind, given_->given_to(*component.manifest), repeat);
    }

    std::string why_nothing_ran(const conformance::Report& report) const {
        if (report.skipped > 0) {
            const auto most =
                std::max_element(report.skip_reasons.begin(), report.skip_reasons.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; });
            return "none of " + counted(static_cast<std::size_t>(report.skipped), "case") +
                   " is served: nothing is known" +
                   (most == report.skip_reasons.end() ? "" : " (most often " + most->first + ")");
        }
        if (!command_.filter.empty()) return "no case has \"" + command_.filter + "\" in its name";
        return "no cases for this kind: nothing is known";
    }

    void print(const conformance::Report& report, Kind kind, const std::string& given,
               const std::function<std::string(std::int64_t)>& repeat) const {
        std::cout << paint(Color::bold, std::string(name(kind)) + " " + report.component)
                  << (given.empty() ? "" : " with " + given) << ": ";
        if (report.cases == 0 && report.faults.empty()) {
            std::cout << paint(Color::yellow, why_nothing_ran(report)) << '\n';
            return;
        }
        std::cout << report.cases << " cases"
                  << (report.drawn > 0 ? " (" + std::to_string(report.drawn) + " drawn), " : ", ")
                  << paint(report.failed == 0 ? Color::green : Color::red,
                           std::to_string(report.failed) + " failed")
                  << ", " << report.skipped << " not served";
        if (report.worst_ratio > 0)
            std::cout << "; closest to its allowance: " << report.worst_ratio << " of it in "
                      << report.worst_case;
        std::cout << '\n';
        std::int64_t left = command_.shown;
        for (const auto& fault : report.faults) {
            if (left-- == 0) break;
            std::cout << "    " << paint(Color::red, fault.code) << " in " << fault.where << ": "
                      << fault.detail << '\n';
            if (fault.drawn >= 0) std::cout << "        repeat it: " << repeat(fault.drawn) << '\n';
        }
        const auto more = static_cast<std::int64_t>(report.faults.size()) - command_.shown;
        if (more > 0) std::cout << "    and " << more << " more: --json has them all\n";
        std::cout.flush();
    }

    const VerifyCommand& command_;
    conformance::VerifyOptions options_;
    HostInfo host_;
    std::optional<GivenOptions> given_;
    Json components_ = Json::array();
    Json refused_ = Json::array();
    bool faults_ = false;
};

}  // namespace

Action setup_plugins_verify(CLI::App& command) {
    const auto options = std::make_shared<VerifyCommand>();
    command
        .add_option("PLUGIN", options->plugin,
                    "a plugin's name, or the path of a library; default: all plugins found")
        ->type_name("");
    command
        .add_option("--component", options->component,
                    "only a kind, or one component of it: attention, precision/bf16")
        ->type_name("KIND[/ID]");
    command.add_option("--filter", options->filter, "only cases whose name contains this")->type_name("TEXT");
    command.add_option("--dtype", options->dtypes, "only this dtype; may be repeated")
        ->type_name("DTYPE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command
        .add_option("--option", options->given,
                    "an option of the components, as in --option chunked.chunk_size=64; may be repeated")
        ->type_name("[ID.]NAME=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command.add_option("--device", options->device, "device to run on: cpu or cuda")->type_name("DEVICE");
    add_number(command, "--drawn", options->drawn,
               "random cases to draw, besides the listed ones, from what a component serves (50)", "N",
               whole_number(0, 1000000));
    command
        .add_option(
            "--seed", options->seed,
            "repeat the random cases of the run that printed this seed; default: new cases in each run")
        ->check(whole_number(0))
        ->type_name("N");
    command.add_option("--show", options->shown, "most faults of a component that are shown (10)")
        ->check(whole_number(0, 1000000))
        ->type_name("N");
    add_json(command, options->json);
    return [options] { return Verification(*options).run(); };
}

}  // namespace switchyard::cli

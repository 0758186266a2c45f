// switchyard plugins verify: components against the reference, by the suite that a plugin's author runs too,
// each in a process of its own.
#include <algorithm>
#include <cctype>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <string_view>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/libtorch_cuda.h"
#include "core/kernel/resolver/plan_json.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/verify_client.h"
#include "core/workbench/cli/plugins/verify_options.h"
#include "core/workbench/cli/plugins/verify_plugins.h"
#include "core/workbench/cli/plugins/verify_record.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyCommand {
    VerifyRequest request;
    std::optional<std::uint64_t> seed;  // of the drawn cases; none: a new one in each run
    std::int64_t shown = 10;
    double timeout = 300.0;  // seconds
    std::string report;
    JsonOption json;
};

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

// The command that runs the case of a fault again: a drawn one alone, a listed one with those whose names
// contain its own.
std::string repetition(const VerifyRequest& request, const std::string& plugin, const std::string& component,
                       const conformance::Fault& fault) {
    std::string text = "switchyard plugins verify " + quoted(plugin) + " --component " + quoted(component);
    for (const auto& dtype : request.dtypes) text += " --dtype " + dtype;
    for (const auto& option : request.given) text += " --option " + quoted(option);
    if (request.device != "cpu") text += " --device " + request.device;
    const bool is_case = fault.where.find('/') != std::string::npos;
    if (fault.drawn < 0) return text + " --drawn 0" + (is_case ? " --filter " + quoted(fault.where) : "");
    return text + " --seed " + std::to_string(request.seed) + " --drawn " + std::to_string(fault.drawn + 1) +
           " --filter /drawn/" + std::to_string(fault.drawn) + "/";
}

Json json_of(const conformance::Report& report, Kind kind, const Options& options,
             const std::function<std::string(const conformance::Fault&)>& repeat) {
    Json faults = Json::array();
    for (const auto& fault : report.faults) {
        faults.push_back({{"code", fault.code},
                          {"case", fault.where},
                          {"detail", fault.detail},
                          {"repeat", repeat(fault)}});
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
          request_(command.request),
          host_(machine::this_host(machine::Look::with_devices)),
          client_([this] { return static_cast<bool>(stop_); }, command.timeout * 1e3) {
        request_.seed = command.seed ? *command.seed : std::random_device()();
        const auto device = conformance_options(request_).device;
        if (device == Device::cpu) return;
        if (host_.first(device) == nullptr) {
            throw Failure("--device " + request_.device +
                          ": this machine has none; `switchyard plugins doctor` lists what it has");
        }
        if (const auto error = machine::load_libtorch_cuda(); !error.empty())
            throw Failure("--device " + request_.device + ": " + error);
    }

    int run() {
        const auto records = find_plugins(request_.plugin, host_);
        given_.emplace(request_.given, components_meant(records, request_.component));
        record_.emplace(request_, command_.report, records);
        stop_.note();
        for (const auto& record : records) {
            if (!stop_) verify(record);
        }
        if (components_.empty() && refused_.empty() && !stop_) {
            throw Failure("no component " + base::quoted(request_.component) + " in " +
                          (request_.plugin.empty() ? "any plugin" : request_.plugin));
        }
        const int stopped = stop_ ? stop_.exit_code() : 0;
        const auto [status, text, code] = verdict();
        write_json(command_.json, {{"status", status},
                                   {"seed", request_.seed},
                                   {"components", components_},
                                   {"refused", refused_}});
        if (prints()) {
            if (request_.drawn > 0)
                std::cout << "\nseed of the random cases: " << request_.seed << " (--seed repeats them)\n";
            std::cout << '\n' << (stopped != 0 ? "stopped before its end: " : "") << text << '\n';
        }
        return stopped != 0 ? stopped : code;
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

    void verify(const loader::PluginRecord& record) {
        if (const auto* failure = record.failure())
            return refuse(record.display_name(), loader::explain(record), *failure);
        if (!record.manifest) return;
        record_->begin(record);
        for (const auto& component : record.manifest->components) {
            if (is_meant(component, request_.component) && !stop_) verify(record, component);
        }
        if (stop_) return;
        const auto told = record_->end(record);
        if (prints() && !told.empty()) std::cout << told << '\n';
    }

    void refuse(const std::string& plugin, const std::string& text, const loader::GateOutcome& gate) {
        if (gate.gate == loader::Gate::disabled || gate.gate == loader::Gate::duplicate) return;
        refused_.push_back({{"plugin", plugin}, {"reason", text}});
        if (prints()) std::cout << paint(Color::red, text) << '\n';
    }

    void verify(const loader::PluginRecord& record, const ComponentManifest& component) {
        const auto kind = component.kind;
        Verified verified;
        auto& report = verified.report;
        report.component = record.display_name() + "/" + component.id;
        const auto known = record.component_failure(kind, component.id);
        if (!known.empty()) {
            report.failed = 1;
            report.faults.push_back({"accepted_then_threw", "probe", known});
        } else {
            verified = client_.run({request_of(record), report.component, std::string(name(kind)), 0});
        }
        if (!verified.refused.empty() && report.faults.empty()) {
            refused_.push_back({{"plugin", record.display_name()}, {"reason", verified.refused}});
            if (prints()) std::cout << paint(Color::red, verified.refused) << '\n';
            return;
        }
        if (verified.stopped) return;
        faults_ = faults_ || !report.faults.empty();
        record_->add(component, report);
        const auto repeat = [&](const conformance::Fault& fault) {
            const std::string plugin = request_.plugin.empty() ? record.display_name() : request_.plugin;
            return repetition(request_, plugin, std::string(name(kind)) + "/" + component.id, fault);
        };
        components_.push_back(json_of(report, kind, given_->of(component), repeat));
        if (prints()) print(report, kind, given_->given_to(component), repeat);
    }

    // Of its plugin alone, so that a component's process looks at no other; but an option may be of another
    // plugin.
    VerifyRequest request_of(const loader::PluginRecord& record) const {
        auto request = request_;
        if (request.given.empty()) request.plugin = record.path;
        return request;
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
        if (!request_.filter.empty()) return "no case has \"" + request_.filter + "\" in its name";
        return "no cases for this kind: nothing is known";
    }

    void print(const conformance::Report& report, Kind kind, const std::string& given,
               const std::function<std::string(const conformance::Fault&)>& repeat) const {
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
        bool first = true;  // a listed case is found by its name: how is told once
        for (const auto& fault : report.faults) {
            if (left-- == 0) break;
            std::cout << "    " << paint(Color::red, fault.code) << " in " << fault.where << ": "
                      << fault.detail << '\n';
            if (fault.drawn >= 0 || first) std::cout << "        repeat it: " << repeat(fault) << '\n';
            first = first && fault.drawn >= 0;
        }
        const auto more = static_cast<std::int64_t>(report.faults.size()) - command_.shown;
        if (more > 0) std::cout << "    and " << more << " more: --json has them all\n";
        std::cout.flush();
    }

    const VerifyCommand& command_;
    VerifyRequest request_;
    train::StopSignal stop_;
    HostInfo host_;
    VerifyClient client_;
    std::optional<GivenOptions> given_;
    std::optional<VerifyRecord> record_;
    Json components_ = Json::array();
    Json refused_ = Json::array();
    bool faults_ = false;
};

}  // namespace

Action setup_plugins_verify(CLI::App& command) {
    const auto options = std::make_shared<VerifyCommand>();
    command
        .add_option("PLUGIN", options->request.plugin,
                    "a plugin's name, or the path of a library; default: all plugins found")
        ->type_name("");
    command
        .add_option("--component", options->request.component,
                    "only a kind, or one component of it: attention, precision/bf16")
        ->type_name("KIND[/ID]");
    command.add_option("--filter", options->request.filter, "only cases whose name contains this")
        ->type_name("TEXT");
    command.add_option("--dtype", options->request.dtypes, "only this dtype; may be repeated")
        ->type_name("DTYPE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command
        .add_option("--option", options->request.given,
                    "an option of the components, as in --option chunked.chunk_size=64; may be repeated")
        ->type_name("[ID.]NAME=VALUE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
    command.add_option("--device", options->request.device, "device to run on: cpu or cuda")
        ->type_name("DEVICE");
    add_number(command, "--drawn", options->request.drawn,
               "random cases to draw, besides the listed ones, from what a component serves (50)", "N",
               whole_number(0, 1000000));
    command
        .add_option(
            "--seed", options->seed,
            "repeat the random cases of the run that printed this seed; default: new cases in each run")
        ->check(whole_number(0))
        ->type_name("N");
    add_number(command, "--timeout", options->timeout, "longest time for one case; a longer one hangs",
               "SECONDS", number(1e-3, 1e6))
        ->capture_default_str();
    command.add_option("--show", options->shown, "most faults of a component that are shown (10)")
        ->check(whole_number(0, 1000000))
        ->type_name("N");
    command
        .add_option(
            "--report", options->report,
            "record of conformance, to ship beside the library: content, components, cases, outcome, seed")
        ->check(output_file())
        ->type_name("FILE");
    add_json(command, options->json);
    return [options] { return Verification(*options).run(); };
}

}  // namespace switchyard::cli

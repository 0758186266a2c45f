// switchyard plugins verify: components against the reference, by the suite that a plugin's author runs too,
// each in a process of its own.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <optional>
#include <random>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/machine/libtorch_cuda.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/verify_client.h"
#include "core/workbench/cli/plugins/verify_job.h"
#include "core/workbench/cli/plugins/verify_options.h"
#include "core/workbench/cli/plugins/verify_output.h"
#include "core/workbench/cli/plugins/verify_plugins.h"
#include "core/workbench/cli/plugins/verify_record.h"
#include "core/workbench/cli/plugins/verify_speed.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyCommand {
    VerifyRequest request;
    std::optional<std::uint64_t> seed;  // of the drawn cases; none: a new one in each run
    std::int64_t shown = 10;
    double timeout = 300.0;  // seconds
    std::optional<std::int64_t> drawn;
    std::string report, junit;
    JsonOption json;
};

class Verification {
public:
    explicit Verification(const VerifyCommand& command)
        : command_(command),
          request_(command.request),
          host_(machine::this_host(machine::Look::with_devices)),
          client_([this] { return static_cast<bool>(stop_); }, command.timeout * 1e3) {
        request_.seed = command.seed ? *command.seed : std::random_device()();
        if (command.drawn)
            request_.drawn = *command.drawn;
        else if (!request_.job.config.empty())
            request_.drawn = cases_of_a_request;
    }

    int run() {
        if (request_.job.config.empty())
            verify_claims();
        else
            verify_job();
        const int stopped = stop_ ? stop_.exit_code() : 0;
        const auto [status, text, code] = verdict();
        write_json(command_.json, {{"status", status},
                                   {"seed", request_.seed},
                                   {"components", components_},
                                   {"refused", refused_}});
        if (!command_.junit.empty()) write_junit();
        if (prints()) {
            const bool draws = !only(VerifyMode::support) && !only(VerifyMode::speed);
            if (request_.drawn > 0 && draws && !components_.empty())
                std::cout << "\nseed of the random cases: " << request_.seed << " (--seed repeats them)\n";
            std::cout << '\n' << (stopped != 0 ? "stopped before its end: " : "") << text << '\n';
        }
        return stopped != 0 ? stopped : code;
    }

private:
    struct Result {
        const char* status;
        std::string text;
        int code;
    };

    bool only(VerifyMode mode) const { return request_.modes == std::vector{std::string(name(mode))}; }

    Result verdict() const {
        if (faults_ && not_run_ > 0)
            return {"faults",
                    "faults were found; up to " + counted(static_cast<std::size_t>(not_run_), "case") +
                        " did not run",
                    Exit::numerics};
        if (faults_) return {"faults", "faults were found", Exit::numerics};
        if (!refused_.empty()) return {"refused", "not everything could be verified", Exit::run_failed};
        if (only(VerifyMode::speed)) {
            if (!timed_) return {"nothing_ran", "nothing was timed", Exit::cannot_tell};
            return {"ok", untimed_ ? "some were timed" : "all were timed", Exit::fine};
        }
        const bool asks = only(VerifyMode::support);
        const bool ran = std::any_of(components_.begin(), components_.end(), [&](const Json& c) {
            return c.at("cases") > 0 || (asks && c.at("skipped") > 0);
        });
        if (ran && asks) return {"ok", "what components serve; no case ran", Exit::fine};
        if (!ran) return {"nothing_ran", "no case ran: nothing is known", Exit::cannot_tell};
        return {"ok", "no faults in what ran", Exit::fine};
    }

    bool prints() const { return !command_.json.on_stdout(); }

    void look_for_device() const {
        const auto device = conformance_options(request_).device;
        if (device == Device::cpu) return;
        if (host_.first(device) == nullptr) {
            throw Failure("--device " + request_.device +
                          ": this machine has none; `switchyard plugins doctor` lists what it has");
        }
        if (const auto error = machine::load_libtorch_cuda(); !error.empty())
            throw Failure("--device " + request_.device + ": " + error);
    }

    // Once for those of one folder, where it is the folder's fault.
    static void warn_if_exposed(const std::vector<loader::PluginRecord>& records) {
        std::set<std::string> told;
        for (const auto& record : records) {
            const auto& exposed = record.gates.front().hint;
            if (record.failure() == nullptr && !exposed.empty() && told.insert(exposed).second)
                std::cerr << ("warning: " + exposed + "\n");
        }
    }

    // All that the components of the plugins claim.
    void verify_claims() {
        look_for_device();
        const auto records = find_plugins(request_.plugin, host_);
        given_.emplace(request_.given, components_meant(records, request_.component));
        record_.emplace(request_, command_.report, records);
        warn_if_exposed(records);
        stop_.note();
        for (const auto& record : records) {
            if (!stop_) verify(record);
        }
        if (components_.empty() && refused_.empty() && !untimed_ && !stop_) {
            throw Failure("no component " + base::quoted(request_.component) + " in " +
                          (request_.plugin.empty() ? "any plugin" : request_.plugin));
        }
    }

    // What the plan of a configuration runs.
    void verify_job() {
        const auto job = plan_to_verify(request_);
        request_.device = std::string(name(job->config.run.device));
        look_for_device();
        const auto parts = planned_parts(job->plan, request_);
        if (parts.empty())
            throw Failure(request_.job.config + ": nothing of its plan is of " +
                          (request_.plugin.empty() ? "" : "plugin " + request_.plugin + " ") +
                          (request_.component.empty() ? "" : "component " + request_.component) +
                          "; `switchyard plan " + base::shell_word(request_.job.config) +
                          "` shows what it chose");
        record_.emplace(request_, "", std::vector<loader::PluginRecord>());
        stop_.note();
        for (std::size_t i = 0; i < parts.size() && !stop_; ++i) {
            const auto& part = parts[i];
            VerifiedComponent found{{}, part.kind, part.id, part.plugin, part.options, "", part.uses};
            record_->begin(part);
            found.verified = client_.run({request_, part.name(), std::string(name(part.kind)), 0, i});
            if (take(found, part.plugin)) tell(record_->note(part, found.verified.report));
        }
    }

    void tell(const std::string& text) const {
        if (prints() && !text.empty()) std::cout << text << '\n';
    }

    void verify(const loader::PluginRecord& record) {
        if (const auto* failure = record.failure())
            return refuse(record.display_name(), loader::explain(record), *failure);
        if (!record.manifest) return;
        record_->begin(record);
        for (const auto& component : record.manifest->components) {
            if (is_meant(component.kind, component.id, request_.component) && !stop_)
                verify(record, component);
        }
        tell(record_->end(record, static_cast<bool>(stop_)));
    }

    void refuse(const std::string& plugin, const std::string& text, const loader::GateOutcome& gate) {
        if (gate.gate != loader::Gate::disabled && gate.gate != loader::Gate::duplicate) refuse(plugin, text);
    }

    void refuse(const std::string& plugin, const std::string& text) {
        refused_.push_back({{"plugin", plugin}, {"reason", text}});
        junit_.push_back({plugin, "can be used", report::JUnitCase::Outcome::error, "refused", text});
        if (prints()) std::cout << paint(Color::red, text) << '\n';
    }

    // Against LibTorch's own calls. What is wrong there, too, is a fault.
    void time(const loader::PluginRecord& record, const ComponentManifest& component) {
        const auto title = record.display_name() + "/" + component.id;
        const std::string kind(name(component.kind));
        if (prints()) std::cout << paint(Color::bold, kind + " " + title);
        if (!facts_of(component.kind).measured) {
            untimed_ = true;
            tell(": is not timed by itself; `switchyard compare` times whole steps with it");
            return;
        }
        if (prints()) std::cout << std::endl;
        const ToTime part{component.kind, record.display_name(), component.id, record.path,
                          given_->texts_of(component)};
        auto timed = time_component(
            request_, part, prints(), [this] { return static_cast<bool>(stop_); }, command_.timeout * 1e3);
        if (timed.stopped) return;
        if (!timed.refused.empty()) return refuse(title, timed.refused);
        faults_ = faults_ || timed.is_wrong;
        timed_ = timed_ || timed.was_timed;
        untimed_ = untimed_ || !timed.was_timed;
        components_.push_back({{"component", title}, {"kind", kind}, {"bench", std::move(timed.bench)}});
    }

    void verify(const loader::PluginRecord& record, const ComponentManifest& component) {
        if (only(VerifyMode::speed)) return time(record, component);
        VerifiedComponent found{{},
                                component.kind,
                                component.id,
                                request_.plugin,
                                given_->of(component),
                                joined(given_->texts_of(component)),
                                {}};
        if (found.plugin.empty()) found.plugin = record.display_name();
        auto& report = found.verified.report;
        report.component = record.display_name() + "/" + component.id;
        const auto known = record.component_failure(component.kind, component.id);
        if (!known.empty()) {
            report.failed = 1;
            report.faults.push_back({"accepted_then_threw", "probe", known});
        } else {
            found.verified =
                client_.run({request_of(record), report.component, std::string(name(component.kind)), 0, 0});
        }
        if (take(found, record.display_name())) record_->add(component, found.verified.report);
    }

    // False: nothing was found out.
    bool take(const VerifiedComponent& found, const std::string& plugin) {
        const auto& verified = found.verified;
        if (!verified.refused.empty() && verified.report.faults.empty()) {
            refuse(plugin, verified.refused);
            return false;
        }
        // That nothing was wrong so far is no result; what was, is.
        if (verified.stopped && verified.report.faults.empty()) return false;
        faults_ = faults_ || !verified.report.faults.empty();
        not_run_ += verified.not_run;
        components_.push_back(to_json(request_, found));
        add_junit_cases(request_, found, junit_);
        if (prints()) print(request_, found, command_.shown);
        return true;
    }

    // Of its plugin alone, so that a component's process looks at no other; but an option may be of another
    // plugin.
    VerifyRequest request_of(const loader::PluginRecord& record) const {
        auto request = request_;
        if (request.given.empty()) request.plugin = record.path;
        return request;
    }

    void write_junit() const {
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun_;
        write_file(command_.junit, report::junit_xml("switchyard plugins verify", junit_, took.count()));
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
    std::vector<report::JUnitCase> junit_;
    std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
    bool faults_ = false;
    std::int64_t not_run_ = 0;              // cases, at most
    bool timed_ = false, untimed_ = false;  // some components, with --mode speed
};

// Bench has cases and numbers of its own.
void refuse_with_speed(const VerifyCommand& options) {
    const auto& request = options.request;
    const auto refuse = [](bool given, const char* option, const char* instead) {
        if (given) throw Failure(std::string(option) + ": does not go with --mode speed; " + instead);
    };
    refuse(!request.job.config.empty(), "--config",
           "`switchyard compare CONFIG --vary ...` times what a configuration runs");
    refuse(!request.filter.empty(), "--filter", "`switchyard bench` takes shapes of your own");
    refuse(options.drawn.has_value(), "--drawn", "nothing is drawn there");
    refuse(!options.junit.empty(), "--junit", "expected --json");
    refuse(request.device != "cpu", "--device", "bench times on the CPU");
}

void refuse_mixed(const VerifyCommand& options) {
    const auto& request = options.request;
    const auto modes = modes_of(request);
    if (std::ranges::find(modes, VerifyMode::speed) != modes.end()) refuse_with_speed(options);
    if (request.job.config.empty()) {
        if (!request.job.overrides.empty() || request.job.trust)
            throw Failure(std::string(request.job.trust ? "--trust" : "--set") +
                          ": is of a configuration; expected --config CONFIG beside it");
        return;
    }
    const auto refuse = [](const char* option, const char* instead) {
        throw Failure(std::string(option) + ": the configuration says that; " + instead);
    };
    if (!request.dtypes.empty()) refuse("--dtype", "expected --set precision.backend=...");
    if (!request.given.empty()) refuse("--option", "expected --set KIND.options.ID.NAME=VALUE");
    if (request.device != "cpu") refuse("--device", "expected --set run.device=...");
    if (!options.report.empty())
        throw Failure(
            "--report: --config runs the cases of one job; expected a run of all that the plugin "
            "claims");
}

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
    command
        .add_option("--config", options->request.job.config,
                    "only what the plan of this configuration runs: its components with its options, at its "
                    "sizes, masks and dtypes")
        ->type_name("CONFIG");
    add_overrides(command, options->request.job,
                  "with --config: a value of the configuration, as in --set attention.backend=mine");
    command
        .add_option(
            "--mode", options->request.modes,
            "what to look for: correctness (outputs), gradients, robustness (padding, strides, memory, "
            "state of the process); default: these three. Or, alone: speed, beside LibTorch's own calls; "
            "support, what is served and why not the rest, without a run")
        ->delimiter(',')
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->type_name("MODE");
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
    command
        .add_option("--drawn", options->drawn,
                    "random cases to draw, besides the listed ones, from what a component serves (50); with "
                    "--config: cases of each request (12)")
        ->check(whole_number(0, 1000000))
        ->type_name("N");
    command
        .add_option(
            "--seed", options->seed,
            "repeat the random cases of the run that printed this seed; default: new cases in each run")
        ->check(whole_number(0))
        ->type_name("N");
    add_number(command, "--timeout", options->timeout,
               "longest time for one case, or with --mode speed for one component, of which a tenth, 20 s at "
               "most, is what it is timed for; a longer one hangs",
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
    command.add_option("--junit", options->junit, "the same as JUnit's XML, a test case for each case")
        ->check(output_file())
        ->type_name("FILE");
    add_json(command, options->json);
    return [options] {
        refuse_mixed(*options);
        return Verification(*options).run();
    };
}

}  // namespace switchyard::cli

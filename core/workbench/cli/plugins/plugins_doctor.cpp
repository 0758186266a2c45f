// switchyard plugins doctor
#include <algorithm>
#include <iostream>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/plugin_demands.h"
#include "core/workbench/cli/need_libtorch.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugins_text.h"

namespace switchyard::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_host(const HostInfo& host) {
    std::cout << paint(Color::bold, "This machine") << "\n  " << host.cpu_model << ", "
              << counted(static_cast<std::size_t>(host.cores), "core") << ", LibTorch "
              << host.libtorch_version << '\n';
    for (const auto& device : host.devices) {
        std::cout << "  " << name(device.device) << ":" << device.index << " " << device.name
                  << ", compute capability " << device.compute_capability / 10 << "."
                  << device.compute_capability % 10 << '\n';
    }
    if (host.devices.empty()) std::cout << "  no accelerator\n";
}

void print_places(const loader::SearchPath& path) {
    std::cout << paint(Color::bold, "\nSearch path, in order") << '\n';
    std::size_t place = 0;
    for (const auto& finding : loader::scan(path)) {
        std::cout << "  " << ++place << ". " << base::printable(finding.entry.path) << " ("
                  << finding.entry.origin << "): ";
        if (!finding.error.empty())
            std::cout << paint(Color::red, finding.error);
        else if (!finding.exists)
            std::cout << paint(finding.entry.named ? Color::red : Color::dim, "does not exist");
        else
            std::cout << counted(finding.libraries.size(), "library file");
        std::cout << '\n';
    }
}

// Why a dtype is not served is the same for most of them: said once.
std::vector<std::string> grouped(const std::vector<std::string>& refusals) {
    std::vector<std::pair<std::string, std::string>> groups;  // reason, dtypes
    for (const auto& refusal : refusals) {
        const auto colon = refusal.find(": ");
        const auto dtype = refusal.substr(0, colon);
        auto reason = refusal.substr(colon + 2);
        if (const auto got = reason.find(", got " + dtype); got != std::string::npos)
            reason.erase(got, 6 + dtype.size());
        const auto same =
            std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == reason; });
        if (same == groups.end())
            groups.emplace_back(reason, dtype);
        else
            same->second += ", " + dtype;
    }
    std::vector<std::string> lines;
    for (const auto& [reason, dtypes] : groups) lines.push_back(dtypes + ": " + reason);
    return lines;
}

void print_component(const loader::ComponentProbe& component) {
    std::cout << "  " << name(component.kind) << ' ' << component.id << '\n';
    if (component.failure)
        std::cout << "    " << paint(Color::red, "not usable: " + loader::to_string(*component.failure))
                  << '\n';
    for (const auto& device : support_of(component)) {
        std::cout << "    " << name(device.device)
                  << (device.host == "this host" ? "" : " (as on " + device.host + ")") << ": "
                  << (device.dtypes.empty() ? paint(Color::red, "nothing")
                                            : paint(Color::green, served_text(device)))
                  << '\n';
        for (const auto& line : around_lines(device)) std::cout << "      " << line << '\n';
        for (const auto& line : grouped(device.refusals))
            std::cout << paint(Color::dim, "      not " + line) << '\n';
    }
}

void print_plugin(const loader::PluginRecord& record, const trust::Demands& demands,
                  std::set<std::string>& warnings) {
    std::cout << '\n'
              << paint(Color::bold, base::printable(record.display_name()))
              << (record.manifest ? " " + record.manifest->version : "") << ": "
              << paint(record.usable() ? Color::green : Color::red, state_of(record)) << "  "
              << paint(Color::dim, base::printable(record.path)) << '\n';
    if (const auto* failure = record.failure()) {
        std::cout << "  " << failure->reason;
        if (!failure->expected.empty()) std::cout << "; expected " << failure->expected;
        if (!failure->got.empty()) std::cout << ", got " << failure->got;
        std::cout << '\n';
        if (!failure->hint.empty())
            std::cout << "  " << paint(Color::yellow, "what to do: " + failure->hint) << '\n';
        return;
    }
    for (const auto& gate : record.gates) {
        if (!gate.hint.empty() && warnings.insert(gate.hint).second)
            std::cout << "  " << paint(Color::yellow, "warning: " + gate.hint) << '\n';
    }
    std::cout << paint(Color::dim, "  trust: " + trust::standing_of(demands, record)) << '\n';
    for (const auto& component : record.trust) {
        if (component.refusal)
            std::cout << "  " << name(component.kind) << ' ' << component.id << ": "
                      << paint(Color::red, "not usable: " + component.refusal->reason) << "\n    "
                      << paint(Color::yellow, "what to do: " + component.refusal->hint) << '\n';
    }
    if (!record.probe) return;
    for (const auto& component : record.probe->components) print_component(component);
}

// Those that a configuration names, judged by what it demands; without one those of the search path.
std::vector<loader::PluginRecord> records_for(const JobOptions& options, const HostInfo& host,
                                              trust::Demands& demands, loader::DiscoveryOptions& discovery) {
    if (!options.config.empty()) {
        auto job = load_job(options, host, discovery);
        discovery.path = loader::standard_search_path(job.config.plugins.paths);
        demands = demands_of(job.config, options.config, false);
        return std::move(job.records);
    }
    if (!options.overrides.empty()) throw Failure("--set: is for a configuration; expected CONFIG before it");
    return loader::discover(discovery, host);
}

Json json_of(const std::vector<loader::SearchFinding>& findings) {
    Json list = Json::array();
    for (const auto& finding : findings) {
        list.push_back({{"path", finding.entry.path},
                        {"origin", finding.entry.origin},
                        {"exists", finding.exists},
                        {"libraries", finding.libraries},
                        {"error", finding.error}});
    }
    return list;
}

}  // namespace

Action setup_plugins_doctor(CLI::App& command) {
    struct Options {
        JsonOption json;
        JobOptions job;
        bool fresh = false;
    };
    const auto options = std::make_shared<Options>();
    command.add_flag("--fresh", options->fresh,
                     "probe all plugins again instead of using remembered results");
    add_job_options(command, options->job);
    command.get_option("CONFIG")->required(false)->description(
        "TOML file whose [plugins] they are held against: its places and what it requires");
    add_json(command, options->json);
    return [options]() -> int {
        need_libtorch();
        loader::DiscoveryOptions discovery;
        discovery.ignore_cache = options->fresh;
        const auto host = machine::this_host(machine::Look::with_devices);
        auto demands = no_demands();
        const auto records = records_for(options->job, host, demands, discovery);
        const auto faults = static_cast<std::size_t>(std::count_if(records.begin(), records.end(), is_fault));
        Json list = Json::array();
        for (const auto& record : records) list.push_back(full_json(record));
        const bool well = faults == 0 && !records.empty();
        write_json(options->json,
                   {{"ok", well}, {"search_path", json_of(loader::scan(discovery.path))}, {"plugins", list}});
        if (!options->json.on_stdout()) {
            print_host(host);
            print_places(discovery.path);
            std::set<std::string> warnings;  // told once: those of one folder may be the folder's
            for (const auto& record : records) print_plugin(record, demands, warnings);
            const auto found =
                records.empty() ? "no plugins were found" : counted(records.size(), "plugin") + " found";
            std::cout << '\n'
                      << found
                      << (records.empty() ? ""
                          : faults == 0   ? ", nothing wrong with them"
                                          : ", " + std::to_string(faults) + " with faults")
                      << '\n';
        }
        return well ? Exit::fine : Exit::run_failed;
    };
}

}  // namespace switchyard::cli

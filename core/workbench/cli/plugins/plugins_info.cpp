// switchyard plugins info NAME
#include <filesystem>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/need_libtorch.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugins_text.h"

namespace switchyard::cli {
namespace {

void print(const ComponentManifest& component, const loader::ComponentProbe* probe) {
    std::cout << "\n  " << paint(Color::bold, std::string(name(component.kind)) + " " + component.id);
    if (!component.summary.empty()) std::cout << ": " << component.summary;
    std::cout << "\n    priority " << component.priority << ", gradient " << name(component.gradient)
              << ", random " << name(component.random) << ", accuracy " << name(component.accuracy);
    if (component.accuracy == Accuracy::reduced)
        std::cout << " (bound " << config::to_toml(component.accuracy_bound) << ")";
    if (component.kind == Kind::data_loader)
        std::cout << ", composition of batches " << name(component.composition);
    std::cout << '\n';
    if (!component.variants.empty()) std::cout << "    variants: " << joined(component.variants) << '\n';
    if (!component.custom.empty())
        std::cout << "    formulas of its own: custom:" << joined(component.custom, ", custom:") << '\n';
    for (const auto& spec : component.options) {
        std::cout << "    option " << spec.key << " = " << config::to_toml(spec.default_value) << ", "
                  << config::short_text(spec) << (spec.help.empty() ? "" : ": " + spec.help) << '\n';
    }
    if (probe == nullptr) return;
    if (probe->failure) std::cout << "    " << paint(Color::red, loader::to_string(*probe->failure)) << '\n';
    for (const auto& device : support_of(*probe)) {
        std::cout << "    " << name(device.device) << " (" << device.host
                  << "): " << (device.dtypes.empty() ? "nothing" : served_text(device)) << '\n';
        for (const auto& line : around_lines(device)) std::cout << "      " << line << '\n';
        for (const auto& refusal : device.refusals)
            std::cout << paint(Color::dim, "      not " + refusal) << '\n';
    }
}

void print(const loader::PluginRecord& record) {
    std::cout << paint(Color::bold, base::printable(record.display_name())) << ": "
              << paint(record.usable() ? Color::green : Color::red, state_of(record)) << "\n  path         "
              << base::printable(record.path) << " (" << record.origin << ")\n";
    if (record.manifest) {
        const auto& m = *record.manifest;
        std::cout << "  version      " << m.version << "\n  vendor       " << m.vendor << "\n  licence      "
                  << m.license << "\n  summary      " << m.summary << "\n  interface    " << m.abi_major
                  << "." << m.abi_minor << '\n'
                  << "  tier         " << name(m.tier);
        if (m.tier == loader::Tier::stable)
            std::cout << (m.libtorch_minimum.empty() ? ", with any LibTorch"
                                                     : ", with LibTorch " + m.libtorch_minimum + " or newer");
        std::cout << '\n';
        if (!m.cpu_features.empty()) std::cout << "  cpu features " << joined(m.cpu_features) << '\n';
        std::cout << "  built as\n";
        for (const auto& [key, value] : m.fingerprint) std::cout << "    " << key << " = " << value << '\n';
    }
    std::cout << "  gates\n";
    for (const auto& gate : record.gates) {
        std::cout << "    " << name(gate.gate) << ": "
                  << (gate.passed ? "passed" : paint(Color::red, "refused: " + gate.reason));
        if (!gate.expected.empty()) std::cout << "; expected " << gate.expected;
        if (!gate.got.empty()) std::cout << ", got " << gate.got;
        if (!gate.hint.empty()) std::cout << "; " << gate.hint;
        std::cout << '\n';
    }
    if (record.probe && !record.probe->output.empty())
        std::cout << "  printed while it was probed\n    " << record.probe->output << '\n';
    if (!record.manifest) return;
    for (const auto& component : record.manifest->components) {
        print(component, record.probe ? record.probe->find(component.kind, component.id) : nullptr);
    }
}

}  // namespace

Action setup_plugins_info(CLI::App& command) {
    struct Options {
        std::string plugin;
        JsonOption json;
    };
    const auto options = std::make_shared<Options>();
    command.add_option("NAME", options->plugin, "a plugin's name, or the path of a library")
        ->required()
        ->type_name("");
    add_json(command, options->json);
    return [options] {
        need_libtorch();
        loader::DiscoveryOptions discovery;
        const bool path = options->plugin.find('/') != std::string::npos;
        if (std::error_code ignored; path && !std::filesystem::exists(options->plugin, ignored))
            throw Failure(options->plugin + ": error: there is no such file; expected the path of a library");
        if (path) discovery.path.entries = {{options->plugin, "the command line", true}};
        const auto records = loader::discover(discovery, machine::this_host(machine::Look::cpu_only));
        std::vector<std::string> names;
        auto list = nlohmann::ordered_json::array();
        for (const auto& record : records) {
            names.push_back(record.display_name());
            if (!path && record.display_name() != options->plugin) continue;
            if (!options->json.on_stdout()) print(record);
            list.push_back(full_json(record));
        }
        if (list.empty()) {
            const auto near = config::suggest(options->plugin, names);
            throw Failure("no plugin is called \"" + base::quoted(options->plugin) + "\"" +
                          (near.empty() ? "" : "; did you mean \"" + near + "\"?") + "\n" +
                          searched_places(discovery.path));
        }
        write_json(options->json, {{"plugins", list}});
        return Exit::fine;
    };
}

}  // namespace switchyard::cli

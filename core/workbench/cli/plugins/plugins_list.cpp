// switchyard plugins list
#include <iostream>
#include <set>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/need_libtorch.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/plugins_text.h"

namespace switchyard::cli {
namespace {

void print(const std::vector<loader::PluginRecord>& records) {
    Table table({"plugin", "version", "tier", "state", "components", "path"});
    std::set<std::string> told;
    for (const auto& record : records) {
        const auto color = record.usable() ? Color::green : Color::red;
        table.row({record.display_name(), record.manifest ? record.manifest->version : "-",
                   record.manifest ? std::string(name(record.manifest->tier)) : "-",
                   paint(color, state_of(record)), record.manifest ? components_of(*record.manifest) : "-",
                   record.path});
        const auto* failure = record.failure();
        if (failure != nullptr)
            table.note(failure->reason + (failure->hint.empty() ? "" : "; " + failure->hint));
        const auto& exposed = record.gates.front().hint;
        if (failure == nullptr && !exposed.empty() && told.insert(exposed).second)
            table.note("warning: " + exposed, Color::yellow);
        if (failure != nullptr || !record.manifest) continue;
        for (const auto& component : record.manifest->components) {
            const auto fault = record.component_failure(component.kind, component.id);
            if (!fault.empty()) table.note(fault);
        }
    }
    std::cout << table.render();
}

}  // namespace

Action setup_plugins_list(CLI::App& command) {
    const auto json = std::make_shared<JsonOption>();
    add_json(command, *json);
    return [json] {
        need_libtorch();
        const loader::DiscoveryOptions options;
        const auto records = loader::discover(options, machine::this_host(machine::Look::cpu_only));
        auto list = nlohmann::ordered_json::array();
        for (const auto& record : records) list.push_back(summary_json(record));
        write_json(*json, {{"plugins", list}});
        if (json->on_stdout()) return Exit::fine;
        if (records.empty())
            std::cout << "no plugins were found; " << searched_places(options.path) << '\n';
        else
            print(records);
        return Exit::fine;
    };
}

}  // namespace switchyard::cli

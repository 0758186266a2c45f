#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/interfaces/plugin_abi.h>
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/program_version.h"

namespace switchyard::cli {

Action setup_version(CLI::App& command) {
    const auto json = std::make_shared<JsonOption>();
    add_json(command, *json);
    return [json] {
        const std::string abi =
            std::to_string(SWITCHYARD_ABI_MAJOR) + "." + std::to_string(SWITCHYARD_ABI_MINOR);
        write_json(*json, {{"version", program_version()},
                           {"commit", program_commit()},
                           {"libtorch", SWITCHYARD_LIBTORCH_VERSION},
                           {"plugin_abi", abi}});
        if (json->on_stdout()) return Exit::fine;
        std::cout << "switchyard " << version_text() << ", built with LibTorch "
                  << SWITCHYARD_LIBTORCH_VERSION << ", plugin interface " << abi << '\n';
        return Exit::fine;
    };
}

}  // namespace switchyard::cli

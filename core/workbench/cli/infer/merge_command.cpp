// switchyard merge ADAPTER FOLDER
#include <filesystem>
#include <iostream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/model/weights/adapter_config.h"
#include "core/workbench/model/weights/merge_adapter.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct MergeOptions {
    std::string adapter, folder, base;
    JsonOption json;
};

bool is_there(const std::string& file) {
    std::error_code ignored;
    return std::filesystem::exists(file, ignored);
}

int merge(const MergeOptions& options) {
    train::StopSignal stop;
    const train::RunDirectory run(options.adapter);
    const bool of_run = is_there(run.adapter() + "/" + model::adapter_config_file);
    const bool has_model = of_run && is_there(run.file("model/config.json"));
    stop.note();  // so that what is written by then is removed
    const auto told = [&stop] { return static_cast<bool>(stop); };
    model::MergeResult result;
    try {
        result = model::merge_adapter(of_run ? run.adapter() : options.adapter, options.base, options.folder,
                                      has_model ? run.file("model") : "", told);
    } catch (const model::MergeStopped&) {
        std::cerr << "stopped: " + base::printable(options.folder) + " was not made\n";
        return stop.exit_code();
    }
    write_json(options.json,
               {{"folder", options.folder}, {"merged", result.merged}, {"replaced", result.whole}});
    if (!options.json.on_stdout())
        std::cout << base::printable(options.folder) << ": " << counted(result.merged.size(), "weight")
                  << " merged, " << counted(result.whole.size(), "tensor") << " of the adapter's own"
                  << std::endl;
    return Exit::fine;
}

}  // namespace

Action setup_merge(CLI::App& command) {
    const auto options = std::make_shared<MergeOptions>();
    command
        .add_option("ADAPTER", options->adapter,
                    "folder of an adapter, as PEFT writes it, or of a run that trained one")
        ->required()
        ->type_name("");
    command
        .add_option("FOLDER", options->folder, "folder to make: the whole model, as transformers writes it")
        ->required()
        ->type_name("");
    command
        .add_option("--base", options->base,
                    "folder of the model that the adapter belongs to, if not the one that it names")
        ->type_name("FOLDER");
    add_json(command, options->json);
    return [options] { return merge(*options); };
}

}  // namespace switchyard::cli

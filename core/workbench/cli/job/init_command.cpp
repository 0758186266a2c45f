// switchyard init DATA...
#include <filesystem>
#include <iostream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/shell_text.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job_draft.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/model/weights/huggingface_config.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
    std::vector<std::string> files, targets;
    std::string from, out;
};

// As the configuration names it, which says paths relative to itself.
std::string as_named(const std::string& path, const fs::path& folder) {
    std::error_code error;
    const auto absolute = fs::absolute(path, error).lexically_normal();
    const auto relative = absolute.lexically_relative(folder);
    const bool near = !relative.empty() && *relative.begin() != "..";
    return (near ? relative : absolute).string();
}

std::string stem_of(const std::string& path) {
    const auto name = fs::path(path).filename().string();
    return name.substr(0, name.find('.', 1));
}

int init(const InitOptions& options) {
    const auto out = options.out.empty() ? stem_of(options.files.front()) + ".toml" : options.out;
    std::error_code error;
    if (fs::exists(out, error))
        throw Failure(base::printable(out) +
                      ": error: is there already; expected a new file, with --out FILE");
    const auto folder = fs::absolute(out, error).parent_path().lexically_normal();
    DraftRequest request;
    for (const auto& file : options.files) request.files.push_back(as_named(file, folder));
    for (const auto& file : options.targets) request.targets.push_back(as_named(file, folder));
    if (!options.from.empty()) {
        const auto theirs = model::read_huggingface_config(options.from + "/config.json");
        if (!theirs.error.empty()) throw Failure(theirs.error);
        request.from = as_named(options.from, folder);
        request.model = theirs.model;
        request.labels = theirs.labels;
    }
    request.facts = data::look_at(
        options.files.front(), options.targets.empty() ? std::nullopt : std::optional(data::RowFormat::text));
    if (!request.facts.error.empty()) throw Failure(request.facts.error);
    const auto draft = draft_job(request);
    if (const auto failed = base::write_file_atomically(out, to_toml(draft, request))) throw Failure(*failed);
    for (const auto& reason : draft.reasons) std::cout << base::printable(reason) << '\n';
    std::cout << base::printable(out) << ": a configuration for " << name(draft.task)
              << ". Next: switchyard train " << base::printable_word(out) << " --run "
              << base::printable_word("runs/" + stem_of(out)) << std::endl;
    return Exit::fine;
}

}  // namespace

Action setup_init(CLI::App& command) {
    const auto options = std::make_shared<InitOptions>();
    command
        .add_option("DATA", options->files,
                    "files of texts: .txt, .tsv, .csv, .jsonl, .parquet; the first is looked at")
        ->required()
        ->type_name("");
    command.add_option("--from", options->from, "folder of a model of Hugging Face's to begin with")
        ->type_name("FOLDER");
    command
        .add_option("--targets", options->targets,
                    "for translations: files with the answer to each line of DATA")
        ->type_name("FILE");
    command
        .add_option("--out", options->out,
                    "the configuration to write; the name of DATA with .toml if not said")
        ->type_name("FILE");
    return [options] { return init(*options); };
}

}  // namespace switchyard::cli

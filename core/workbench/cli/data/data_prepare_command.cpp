// switchyard data prepare CONFIG
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/shell_text.h"
#include "core/kernel/config/override.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/config/value.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/data/store/prepare.h"
#include "core/workbench/train/job_data.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

struct PrepareOptions {
    JobOptions job;
    std::string folder;
    std::int64_t threads = 0;
    JsonOption json;
};

// Why a store would be of no use to this job.
void refuse_task(const config::Config& config) {
    using Kind = config::TaskKind;
    const auto kind = config.task.kind;
    const bool spans = kind == Kind::seq2seq && config.data.targets == config::Targets::spans;
    if (kind != Kind::masked_lm && kind != Kind::causal_lm && !spans)
        throw Failure(config::told_at(config, "task.kind") +
                      "a token store holds texts without labels, and " + std::string(name(kind)) +
                      " needs them; expected masked_lm, causal_lm, or seq2seq with data.targets = \"spans\"");
    if (!config.data.sources.empty())
        throw Failure(
            config::to_string(config.data.sources.front().origin) +
            ": error: data.source: a token store holds one source; expected data.train, and a store of "
            "its own for each source");
}

void show(const data::PrepareProgress& at) {
    char text[80];
    std::snprintf(text, sizeof text, "prepare  %lld texts, %.1f million tokens",
                  static_cast<long long>(at.texts), static_cast<double>(at.tokens) / 1e6);
    show_progress(text, at.share);
}

nlohmann::ordered_json file_json(const data::TokenFileHeader& header) {
    return {{"texts", header.texts},
            {"tokens", header.tokens},
            {"longest", header.longest},
            {"bytes", header.texts > 0 ? header.file_bytes() : 0}};
}

int prepare_data(const PrepareOptions& options) {
    const auto job = load_job_by_manifests(options.job);
    const auto& config = job.config;
    refuse_task(config);
    if (const auto problem = config::files_problem(config); !problem.empty()) throw Failure(problem);
    const auto tokenizer = train::open_tokenizer(config);
    train::StopSignal stop;
    stop.note();
    data::PrepareRequest request{config.data, tokenizer, options.folder};
    request.threads = options.threads > 0 ? options.threads
                                          : std::max<std::int64_t>(1, std::thread::hardware_concurrency());
    request.progress = show;
    request.stop = [&] { return static_cast<bool>(stop); };
    auto result = data::prepare(request);
    show_progress("");
    train::throw_problems(config, std::move(result.counts.problems));
    for (const auto& warning : result.counts.warnings) std::cerr << "warning: " << warning << '\n';
    if (result.stopped) {
        std::cerr << "stopped; the same command goes on with it\n";
        return stop.exit_code();
    }
    write_json(options.json, {{"folder", options.folder},
                              {"was_there", result.was_there},
                              {"resumed_rows", result.resumed_rows},
                              {"train", file_json(result.train)},
                              {"eval", file_json(result.eval)},
                              {"skipped", result.counts.train_rows.skipped + result.counts.eval_rows.skipped},
                              {"also_in_train", result.counts.also_in_train}});
    if (options.json.on_stdout()) return Exit::fine;
    if (result.resumed_rows > 0)
        std::cout << "went on after " << counted(result.resumed_rows, "row") << " of an earlier process\n";
    std::cout << options.folder << (result.was_there ? ": was there already: " : ": ") << result.train.texts
              << " texts of " << result.train.tokens << " tokens to learn from, " << result.eval.texts
              << " of " << result.eval.tokens << " to evaluate on\n"
              << "train with: --set "
              << base::printable_word("data.train=[" + config::toml_string(options.folder) + "]")
              << " --set 'data.eval=[]'";
    if (!tokenizer->files().empty() && config.data.vocabulary.empty())
        std::cout << " --set "
                  << base::printable_word("data.vocabulary=" + config::override_text(options.folder));
    std::cout << '\n';
    return Exit::fine;
}

}  // namespace

Action setup_data_prepare(CLI::App& command) {
    const auto options = std::make_shared<PrepareOptions>();
    add_job_options(command, options->job);
    command.add_option("--out", options->folder, "folder of the token store, new, empty or begun before")
        ->type_name("FOLDER")
        ->default_val("prepared");
    command.add_option("--threads", options->threads, "threads that tokenize; 0: one for each core")
        ->check(CLI::Range(0, 1024))
        ->type_name("N");
    add_json(command, options->json);
    return [options] { return prepare_data(*options); };
}

}  // namespace switchyard::cli

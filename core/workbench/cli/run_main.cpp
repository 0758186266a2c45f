// switchyard-run: the commands that need LibTorch. Started by switchyard, with the same arguments.
#include <string>
#include <vector>

#include "core/kernel/base/end_process.h"
#include "core/kernel/base/stdout_redirect.h"
#include "core/kernel/base/terminal.h"
#include "core/kernel/runtime/crash_handler.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/compare/compare_command.h"
#include "core/workbench/cli/data/reading_bar.h"
#include "core/workbench/cli/plugins/verify_case.h"
#include "core/workbench/cli/program.h"

namespace {

using namespace switchyard;

int run(const std::vector<std::string>& arguments) {
    runtime::install_crash_handler();
    auto commands = cli::all_commands();
    attach(commands, "plan", cli::setup_plan);
    attach(commands, "tune", cli::setup_tune);
    attach(commands, "plugins verify", cli::setup_plugins_verify);
    attach(commands, "plugins bisect", cli::setup_plugins_bisect);
    attach(commands, "plugins lock", cli::setup_plugins_lock);
    attach(commands, "bench", cli::setup_bench);
    attach(commands, "bench inference", cli::setup_bench_inference);
    attach(commands, "bench ranks", cli::setup_bench_ranks);
    attach(commands, "compare", cli::setup_compare);
    attach(commands, "fit", cli::setup_fit);
    attach(commands, "train", cli::setup_train);
    attach(commands, "evaluate", cli::setup_evaluate);
    attach(commands, "predict", cli::setup_predict);
    attach(commands, "generate", cli::setup_generate);
    attach(commands, "embed", cli::setup_embed);
    attach(commands, "quantize", cli::setup_quantize);
    attach(commands, "merge", cli::setup_merge);
    attach(commands, "diagnose", cli::setup_diagnose);
    attach(commands, "config check", cli::setup_config_check);
    attach(commands, "model", cli::setup_model);
    attach(commands, "data prepare", cli::setup_data_prepare);
    attach(commands, "data train-tokenizer", cli::setup_data_train_tokenizer);
    attach(commands, "data stats", cli::setup_data_stats);
    attach(commands, "data show", cli::setup_data_show);
    attach(commands, "precision", cli::setup_precision);
    attach(commands, "profile", cli::setup_profile);
    commands.push_back(cli::arm_command());
    commands.push_back(cli::verify_process_command());
    const cli::ReadingBar reading_bar;
    return cli::run_program(commands, arguments, [](const std::vector<std::string>& others) -> int {
        throw cli::Failure("this program runs commands that need LibTorch; for \"" + others.front() +
                           "\" use `switchyard`");
    });
}

}  // namespace

int main(int argc, char** argv) {
    base::guard_terminal();
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const int code = run(arguments);
    base::redirect_stdout_for_good();  // static objects of plugins may print, too
    // How a component lets its process end belongs to what is verified.
    if (!arguments.empty() && arguments.front() == cli::verify_process_command().path) return code;
    return base::end_process(code);
}

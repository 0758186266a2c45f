// switchyard: what needs no tensors runs here, because mapping LibTorch costs a fifth of a second; the rest
// is handed over by exec.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/kernel/base/terminal.h"
#include "core/kernel/machine/program_paths.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/need_libtorch.h"
#include "core/workbench/cli/program.h"
#include "core/workbench/cli/spin.h"

namespace {

using namespace switchyard;

int run_with_tensors(const std::vector<std::string>& arguments) {
    const std::string relative = "libexec/switchyard/switchyard-run";
    const auto program = machine::belonging_path(relative);
    if (program.empty()) {
        throw cli::Failure("this command runs in " + relative + ", which is not beside " +
                               machine::program_path() + ": build or install it again",
                           cli::Exit::run_failed);
    }
    cli::need_libtorch();
    std::vector<char*> words{const_cast<char*>("switchyard")};
    for (const auto& word : arguments) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    cli::set_spin(config::RuntimeConfig().spin);  // a configuration that says otherwise comes later
    execv(program.c_str(), words.data());
    throw cli::Failure("cannot run " + program + ": " + std::strerror(errno), cli::Exit::run_failed);
}

}  // namespace

int main(int argc, char** argv) {
    base::guard_terminal();
    auto commands = cli::all_commands();
    attach(commands, "compare self-test", cli::setup_self_test);
    attach(commands, "plugins list", cli::setup_plugins_list);
    attach(commands, "plugins info", cli::setup_plugins_info);
    attach(commands, "plugins doctor", cli::setup_plugins_doctor);
    attach(commands, "plugins new", cli::setup_plugins_new);
    attach(commands, "plugins install", cli::setup_plugins_install);
    attach(commands, "plugins remove", cli::setup_plugins_remove);
    attach(commands, "plugins new-key", cli::setup_plugins_new_key);
    attach(commands, "plugins sign", cli::setup_plugins_sign);
    attach(commands, "plugins verify-signature", cli::setup_plugins_verify_signature);
    attach(commands, "config show", cli::setup_config_show);
    attach(commands, "config schema", cli::setup_config_schema);
    attach(commands, "data list", cli::setup_data_list);
    attach(commands, "data fetch", cli::setup_data_fetch);
    attach(commands, "report", cli::setup_report);
    attach(commands, "init", cli::setup_init);
    attach(commands, "runs", cli::setup_runs);
    attach(commands, "launch", cli::setup_launch);
    attach(commands, "version", cli::setup_version);
    commands.push_back({"arm", "one arm of a comparison that another build makes", {}, nullptr, false});
    return cli::run_program(commands, {argv + 1, argv + argc}, run_with_tensors);
}

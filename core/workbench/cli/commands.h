// All commands, and who runs them: `switchyard` has those that need no tensors in itself and hands the others
// to `switchyard-run`.
#pragma once

#include <vector>

#include "core/workbench/cli/command.h"

namespace switchyard::cli {

// In the order of the help. None has its setup yet.
std::vector<Command> all_commands();

// Gives the command `path` its setup; std::logic_error if there is no such command.
void attach(std::vector<Command>& commands, std::string_view path, Setup setup);

// Without LibTorch.
Action setup_version(CLI::App& command);
Action setup_self_test(CLI::App& command);
Action setup_init(CLI::App& command);
Action setup_report(CLI::App& command);
Action setup_runs(CLI::App& command);
Action setup_config_show(CLI::App& command);
Action setup_config_schema(CLI::App& command);
Action setup_plugins_list(CLI::App& command);
Action setup_plugins_info(CLI::App& command);
Action setup_plugins_doctor(CLI::App& command);
Action setup_plugins_new(CLI::App& command);
Action setup_plugins_install(CLI::App& command);
Action setup_plugins_remove(CLI::App& command);
Action setup_plugins_new_key(CLI::App& command);
Action setup_plugins_sign(CLI::App& command);
Action setup_plugins_verify_signature(CLI::App& command);

// With LibTorch.
Action setup_plan(CLI::App& command);
Action setup_tune(CLI::App& command);
Action setup_plugins_verify(CLI::App& command);
Action setup_plugins_lock(CLI::App& command);
Action setup_bench(CLI::App& command);
Action setup_bench_ranks(CLI::App& command);
Action setup_config_check(CLI::App& command);
Action setup_model(CLI::App& command);
Action setup_train(CLI::App& command);
Action setup_evaluate(CLI::App& command);
Action setup_predict(CLI::App& command);
Action setup_generate(CLI::App& command);
Action setup_embed(CLI::App& command);
Action setup_quantize(CLI::App& command);
Action setup_merge(CLI::App& command);
Action setup_diagnose(CLI::App& command);
Action setup_plugins_bisect(CLI::App& command);
Action setup_precision(CLI::App& command);
Action setup_profile(CLI::App& command);
Action setup_data_list(CLI::App& command);
Action setup_data_fetch(CLI::App& command);
Action setup_data_prepare(CLI::App& command);
Action setup_data_train_tokenizer(CLI::App& command);
Action setup_data_stats(CLI::App& command);
Action setup_data_show(CLI::App& command);
Action setup_launch(CLI::App& command);
Action setup_fit(CLI::App& command);

}  // namespace switchyard::cli

#include "core/workbench/cli/infer/quantized_run.h"

#include <filesystem>
#include <sstream>
#include <system_error>

#include <ATen/core/grad_mode.h>

#include "core/kernel/config/show.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/infer/export_model.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/train/run_directory.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

// What a dense weight becomes in memory, of a tied head, is in groups as the stored ones are.
void set_group(config::SlotConfig& linear, const config::QuantizationConfig& how) {
    const std::string component(name(how.method_of_floats()));
    for (auto& [key, options] : linear.options)
        if (key == component || key.ends_with("/" + component)) options.set("group", how.group);
}

config::Config stored_config(const train::Session& session, const config::QuantizationConfig& how) {
    auto config = session.config();
    config.quantization = how;
    config.quantization.skip_backend = config.linear.backend;
    config.linear.backend = {std::string(name(how.method))};
    set_group(config.linear, how);
    for (auto& rule : config.layers)
        std::erase_if(rule.values, [](const auto& value) { return value.key == "linear.backend"; });
    std::erase_if(config.layers, [](const auto& rule) { return rule.values.empty(); });
    config.run.phases = {Phase::eval};
    config.lora = {};
    return config;
}

void check(const base::FileError& error) {
    if (error) throw Failure(*error, Exit::run_failed);
}

}  // namespace

void write_quantized_run(const train::Session& session, const config::QuantizationConfig& how,
                         const quantize::InputScales& scales, const std::string& label_scale,
                         const std::string& folder) {
    const at::NoGradGuard no_grad;
    std::error_code error;
    fs::remove_all(folder, error);
    fs::create_directories(folder, error);
    if (error) throw Failure(folder + ": error: cannot be made: " + error.message(), Exit::run_failed);
    const train::RunDirectory run(folder);
    const auto config = stored_config(session, how);
    const auto layers = quantize::quantizable_layers(session.linears());
    const auto stored = quantize::quantized_parameters(session.parameters(), layers, how, scales);
    check(model::save_weights(run.file("model"), config, stored, special_tokens(session)));
    for (const auto& file : tokenizer_files(session))
        check(base::write_file_atomically(run.file("model/" + file.name), file.bytes));
    write_tokenizer(session.tokenizer(), run);
    if (!label_scale.empty()) {
        fs::copy_file(label_scale, run.label_scale(), error);
        if (error)
            throw Failure(label_scale + ": error: cannot be copied: " + error.message(), Exit::run_failed);
    }
    std::ostringstream shown;
    config::show(shown, config, false);
    write_file(run.file("config.toml"), shown.str());
}

std::int64_t bytes_below(const std::string& folder) {
    std::int64_t bytes = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) bytes += static_cast<std::int64_t>(entry.file_size());
    return bytes;
}

}  // namespace switchyard::cli

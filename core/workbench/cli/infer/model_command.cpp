// switchyard model CONFIG|FOLDER|FILE.gguf
#include <algorithm>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/machine/host_info.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/stored_model.h"
#include "core/workbench/cli/job/job.h"
#include "core/workbench/cli/job/planned_job.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/model/auto_precision.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/planning.h"
#include "core/workbench/model/step_flops.h"
#include "core/workbench/train/parameter_groups.h"

namespace switchyard::cli {
namespace {

struct ModelOptions {
    JobOptions job;
    bool parameters = false;
    JsonOption json;
};

std::string scaled(double value, const char* unit) {
    constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
    std::size_t step = 0;
    while (value >= 1000.0 && step + 1 < std::size(prefixes)) value /= 1000.0, ++step;
    std::ostringstream text;
    text << std::fixed << std::setprecision(step == 0 ? 0 : 2) << value << ' ' << prefixes[step] << unit;
    return text.str();
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const auto size : sizes) base::add_item(text, std::to_string(size), "x");
    return text;
}

// Each parameter with what [[group]] says of it.
int show_parameters(const ModelOptions& options, const config::Config& config) {
    auto json = nlohmann::ordered_json::array();
    Table table({"parameter", "shape", "trained"});
    const auto described = model::describe_names(config);
    for (const auto& [name, sizes] : described.parameters) {
        const auto* const group = train::group_of(config, name);
        const bool frozen = !train::is_trained(config, name);
        const double factor = group != nullptr ? group->lr_factor : 1.0;
        table.row({name, sizes_text(sizes),
                   frozen          ? "no"
                   : factor == 1.0 ? "yes"
                                   : "optimizer.lr times " + base::digits(factor)});
        json.push_back({{"name", name}, {"shape", sizes}, {"frozen", frozen}, {"lr_factor", factor}});
    }
    write_json(options.json, {{"parameters", json}});
    if (!options.json.on_stdout()) std::cout << table.render();
    return Exit::fine;
}

// In which dtype parameters are stored, which the precision policy says; nothing where no policy may be
// asked.
std::optional<DType> stored_dtype(const JobOptions& options, const config::Config& written) {
    if (written.precision.parameter_dtype) return written.precision.parameter_dtype;
    try {
        const auto host = machine::this_host(machine::Look::cpu_only);
        auto job = load_job(options, host);
        set_phases(job.config, Purpose::inference);  // in which it may be stored in the fewest bits
        runtime::Registry registry(std::move(job.records));
        const auto row = model::resolve_precision(job.config, model::candidates(registry), host, {});
        return model::with_precision_of(std::move(job.config), row).precision.parameter_dtype;
    } catch (const Failure&) {
        return std::nullopt;
    }
}

// Operations of a training step by those of its forward.
std::string step_text(const config::Config& config) {
    const auto trained = [&](const std::string& name) { return train::is_trained(config, name); };
    if (std::ranges::all_of(model::describe_names(config).parameters, trained,
                            &model::DescribedParameter::name))
        return "A training step takes about three times the forward.";
    double forward = 0.0, all = 0.0;
    for (const auto& product : model::step_products(config, trained)) {
        const double amount = model::largest_amount(config.batch, product);
        forward += amount * product.forward;
        all += amount * (product.forward + product.backward);
    }
    return "A training step takes about " + base::digits(forward > 0.0 ? all / forward : 1.0, 2) +
           " times the forward, since what is frozen needs no gradient.";
}

// A folder that is neither a configuration nor a model, as that of a run, which has both.
void refuse_folder(const std::string& folder) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (!fs::is_directory(folder, ignored)) return;
    std::string of_run;
    for (const auto* const name : {"model", "config.toml"}) {
        const auto part = fs::path(folder) / name;
        if (fs::exists(part, ignored)) of_run += (of_run.empty() ? "; of a run: " : " or ") + part.string();
    }
    throw Failure(
        folder + ": error: is a folder; expected a TOML file, a Hugging Face folder or a GGUF file" + of_run);
}

// A number without a fraction, as far as 64 bits hold it.
nlohmann::ordered_json whole_number(double value) {
    if (value < 0x1p63) return static_cast<std::int64_t>(value);
    return value;
}

int show_model(const ModelOptions& options) {
    const bool of_files = is_model_folder(options.job.config);
    if (!of_files) refuse_folder(options.job.config);
    if (of_files && !options.parameters)
        return show_stored_model(options.job.config, options.job, options.json);
    const auto job =
        load_job_by_manifests(of_files ? job_of_folder(options.job.config, options.job) : options.job);
    if (options.parameters) return show_parameters(options, job.config);
    const auto stored = stored_dtype(options.job, job.config);
    const auto bytes_in = [](std::int64_t count, DType dtype) {
        return count * static_cast<std::int64_t>(size_of(dtype));
    };
    const auto parts = model::describe(job.config);
    model::ModelPart sum;
    auto json = nlohmann::ordered_json::array();
    Table table({"part", "layers", "parameters", "forward", "kept", "shapes (out x in)"});
    for (const auto& part : parts) {
        table.row({part.name, std::to_string(part.layers), scaled(static_cast<double>(part.parameters), ""),
                   scaled(part.forward_flops, "FLOP"), scaled(part.activation_bytes, "B"), part.shapes});
        json.push_back({{"name", part.name},
                        {"layers", part.layers},
                        {"parameters", part.parameters},
                        {"forward_flops", part.forward_flops},
                        {"activation_bytes", whole_number(part.activation_bytes)},
                        {"shapes", part.shapes}});
        sum.parameters += part.parameters;
        sum.forward_flops += part.forward_flops;
        sum.activation_bytes += part.activation_bytes;
    }
    table.row({"all", "", scaled(static_cast<double>(sum.parameters), ""), scaled(sum.forward_flops, "FLOP"),
               scaled(sum.activation_bytes, "B"), ""});
    const auto& batch = job.config.batch;
    write_json(
        options.json,
        {{"parts", json},
         {"parameters", sum.parameters},
         {"parameter_dtype", stored ? nlohmann::ordered_json(name(*stored)) : nullptr},
         {"parameter_bytes", stored ? nlohmann::ordered_json(bytes_in(sum.parameters, *stored)) : nullptr},
         {"forward_flops", sum.forward_flops},
         {"activation_bytes", whole_number(sum.activation_bytes)},
         {"batch", {{"size", batch.size}, {"length", batch.max_length}, {"tokens", batch.most_tokens()}}}});
    if (options.json.on_stdout()) return Exit::fine;
    std::cout << table.render() << "\n";
    if (stored)
        std::cout << "parameters: " << scaled(static_cast<double>(bytes_in(sum.parameters, *stored)), "B")
                  << " in " << name(*stored) << "\n";
    std::cout << "forward and kept: for one batch of "
              << (batch.tokens > 0 ? std::to_string(batch.most_tokens())
                                   : std::to_string(batch.size) + " x " + std::to_string(batch.max_length))
              << " tokens; kept: for backward, without fusion, in "
              << name(job.config.precision.parameter_dtype.value_or(DType::float32)) << ". "
              << step_text(job.config) << "\n";
    return Exit::fine;
}

}  // namespace

Action setup_model(CLI::App& command) {
    const auto options = std::make_shared<ModelOptions>();
    command
        .add_option("CONFIG|FOLDER", options->job.config,
                    "TOML file; or a Hugging Face folder or a GGUF file: what it holds")
        ->required()
        ->type_name("");
    add_overrides(command, options->job, "set one value, as in --set optimizer.lr=3e-4; may be repeated");
    command.add_flag("--parameters", options->parameters,
                     "list the parameters instead, by the names that [[group]] goes by");
    add_json(command, options->json);
    return [options] { return show_model(*options); };
}

}  // namespace switchyard::cli

// switchyard quantize RUN|FOLDER --method M --out DIR
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/config/name_pattern.h"
#include "core/kernel/runtime/call_observer.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/data/guessed_columns.h"
#include "core/workbench/cli/infer/model_folder.h"
#include "core/workbench/cli/infer/quantized_run.h"
#include "core/workbench/cli/infer/quantizing.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/train/run_name.h"
#include "core/workbench/data/sample_list.h"
#include "core/workbench/quantize/sensitivity.h"
#include "core/workbench/train/run_directory.h"
#include "core/workbench/train/stop_signal.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct QuantizeOptions {
    std::string run, method, out;
    std::int64_t group = -1;  // -1: as the method usually has it
    std::vector<std::string> calibrate, eval, skip;
    std::string rule = "percentile";
    double percent = quantize::Calibration{}.percent;
    std::int64_t samples = 512;
    std::optional<double> max_drop;
    JobOptions job;
    JsonOption json;
};

constexpr std::int64_t rows_of_layer = 256;  // that sensitivities go by
constexpr std::int64_t timed_samples = 64;

config::QuantizationMethod method_of(const std::string& option) {
    auto text = option;
    std::ranges::replace(text, '-', '_');
    return *parse<config::QuantizationMethod>(text);
}

config::QuantizationConfig quantization_of(const QuantizeOptions& options) {
    config::QuantizationConfig how;
    how.method = method_of(options.method);
    const bool four = how.bits() == 4;
    constexpr std::int64_t usual_group = 64;
    how.group = options.group >= 0 ? options.group : four ? usual_group : 0;
    how.zero_points = four;
    how.skip = options.skip;
    if (how.group % 16 != 0)
        throw Failure("--group: error: expected a multiple of 16, or 0 for whole rows, got " +
                      std::to_string(how.group));
    return how;
}

// Throws Failure for options that would change nothing.
void check_together(const CLI::App& command, const QuantizeOptions& options) {
    for (const char* option : {"--range", "--percentile", "--samples"}) {
        if (options.method != "static" && command.count(option) > 0)
            throw Failure(std::string(option) +
                          ": error: says how --method static calibrates, and --method " + options.method +
                          " does not; expected --method static, or no " + option);
    }
    if (options.rule != "percentile" && command.count("--percentile") > 0)
        throw Failure("--percentile: error: is of --range percentile, and --range is " + options.rule +
                      "; expected --range percentile, or no --percentile");
}

// What a model is calibrated and evaluated on; nullptr: nothing.
struct QuantizeData {
    std::shared_ptr<const SampleSource> calibration, evaluation;
};

QuantizeData read_data(const QuantizeOptions& options, bool calibrates, LoadedModel& model) {
    auto& session = model.session();
    QuantizeData data;
    const bool calibrates_on_own = calibrates && options.calibrate.empty();
    if (session.config().data.given() && (options.eval.empty() || calibrates_on_own)) {
        session.load_data();
        if (calibrates_on_own) data.calibration = session.data().train;
        if (options.eval.empty()) data.evaluation = session.data().eval;
    }
    if (!options.eval.empty()) data.evaluation = model.read_files(options.eval);
    const auto is_empty = [](const auto& samples) { return samples == nullptr || samples->size() == 0; };
    if (is_empty(data.evaluation)) data.evaluation = nullptr;
    if (!options.calibrate.empty()) {
        if (!calibrates && data.evaluation != nullptr)
            throw Failure("--calibrate: error: --method " + options.method +
                          " does not calibrate, and there are other data to evaluate on; expected --eval "
                          "with these files, or no --calibrate");
        data.calibration = model.read_files(options.calibrate);
    }
    if (is_empty(data.calibration)) data.calibration = nullptr;
    if (data.evaluation == nullptr && !options.calibrate.empty()) {
        std::cerr << "evaluated on the files of --calibrate; name others with --eval\n";
        data.evaluation = data.calibration;
    }
    return data;
}

// As many, from all over the source: files are often sorted by their labels.
std::shared_ptr<const SampleSource> spread(const SampleSource& all, std::int64_t most) {
    auto some = std::make_shared<data::SampleList>();
    const auto count = std::min(most, all.size());
    for (std::int64_t i = 0; i < count; ++i) some->add(all.get(i * all.size() / count, 0));
    return some;
}

// The scales of inputs of method "static", and rows of inputs of each layer.
struct Calibrated {
    quantize::InputScales scales;
    std::map<std::string, at::Tensor> rows;
};

Calibrated calibrated(const QuantizeOptions& options, LoadedModel& model, const QuantizeData& data) {
    if (data.calibration == nullptr)
        throw Failure(
            "--method static: error: there is no data to calibrate on; name files with --calibrate");
    quantize::LayerInputs inputs(rows_of_layer, true);
    {
        const runtime::ObserveCalls observing(inputs);
        model.evaluate(spread(*data.calibration, options.samples), "calibrating");
    }
    const quantize::Calibration how{*parse<quantize::RangeRule>(options.rule), options.percent};
    return {quantize::input_scales(inputs.magnitudes(), how), inputs.rows()};
}

ordered_json scores_json(const train::EvalResult& result) {
    ordered_json json{{"loss", result.loss}, {"samples", result.samples}};
    if (result.accuracy) json["accuracy"] = *result.accuracy;
    if (result.perplexity) json["perplexity"] = *result.perplexity;
    return json;
}

std::int64_t model_bytes(const NamedRun& run) {
    return fs::is_directory(run.weights) ? bytes_below(run.weights)
                                         : static_cast<std::int64_t>(fs::file_size(run.weights));
}

using Errors = std::map<std::string, double>;  // by layer

// The most sensitive first.
std::vector<std::string> ranked(const Errors& errors) {
    std::vector<std::string> layers;
    for (const auto& [layer, error] : errors) layers.push_back(layer);
    std::ranges::stable_sort(layers,
                             [&](const auto& a, const auto& b) { return errors.at(a) > errors.at(b); });
    return layers;
}

// A tied head, which is not stored in few bits, can be named too: it is then not multiplied so either.
void check_skip(const std::vector<std::string>& patterns, const train::Session& session,
                const std::vector<std::string>& layers) {
    std::vector<std::string> all;
    for (const auto& linear : session.linears()) all.push_back(linear.context.site->name);
    for (const auto& pattern : patterns) {
        const auto fits = [&](const auto& layer) { return config::name_matches(pattern, layer); };
        if (std::ranges::none_of(all, fits))
            throw Failure("--skip: error: \"" + pattern + "\" is the name of no linear layer; " +
                          config::near_pattern(pattern, all));
    }
    const auto skipped = [&](const auto& layer) { return config::any_matches(patterns, layer); };
    if (std::ranges::all_of(layers, skipped))
        throw Failure("--skip: error: no linear layer is left to quantize");
}

void show(const QuantizeOptions& options, const ordered_json& json) {
    Table layers({"layer", "error", "stored as"});
    for (const auto& layer : json["layers"])
        layers.row({layer["name"].get<std::string>(), base::digits(layer["error"].get<double>(), 3),
                    layer["quantized"].get<bool>() ? options.method : "floats"});
    std::cout << layers.render() << '\n';
    Table table({"", "before", "after"});
    table.row({"bytes", std::to_string(json["bytes"]["before"].get<std::int64_t>()),
               std::to_string(json["bytes"]["after"].get<std::int64_t>())});
    for (const auto* const name : {"accuracy", "perplexity", "loss", "samples_per_second"}) {
        const auto has = [&](const char* when) { return json.contains(when) && json[when].contains(name); };
        const auto cell = [&](const char* when) {
            return has(when) ? base::digits(json[when][name].get<double>(), 5) : std::string("-");
        };
        if (!has("before") && !has("after")) continue;
        table.row({name == std::string_view("samples_per_second") ? "samples/s" : name, cell("before"),
                   cell("after")});
    }
    std::cout << table.render();
    if (!json.contains("before")) std::cout << "not evaluated: there is no data; name files with --eval\n";
    std::cout << base::printable(options.out) << ": written\n";
}

void check_model(const QuantizeOptions& options, const NamedRun& run, const train::Session& session) {
    if (session.config().quantization.given())
        throw Failure(options.run + ": error: is quantized already; expected the run that it was made of");
    if (session.config().lora.rank > 0)
        throw Failure(options.run +
                      ": error: a checkpoint with adapters; expected the run itself, whose model has them "
                      "merged");
    if (!run.is_run) require_head(session);
}

JobOptions job_of(const QuantizeOptions& options, const NamedRun& run) {
    auto job = job_of_run(run, options.job);
    const auto& files = options.calibrate.empty() ? options.eval : options.calibrate;
    if (!run.is_run && !files.empty()) imply(guess_columns(files, task_of_folder(run.folder), false), job);
    return job;
}

// Of a regression; empty: there is none.
std::string label_scale_of(const NamedRun& run) {
    const auto file = train::RunDirectory(run.folder).label_scale();
    std::error_code ignored;
    return fs::exists(file, ignored) ? file : "";
}

ordered_json layers_json(const Errors& errors, const Calibrated& inputs,
                         const std::vector<std::string>& skip) {
    auto all = ordered_json::array();
    for (const auto& layer : ranked(errors)) {
        const bool quantized = !config::any_matches(skip, layer);
        ordered_json json{{"name", layer},
                          {"error", errors.at(layer)},
                          {"of", inputs.rows.contains(layer) ? "output" : "weight"},
                          {"quantized", quantized}};
        if (const auto scale = inputs.scales.find(layer); quantized && scale != inputs.scales.end())
            json["input_scale"] = scale->second;
        all.push_back(std::move(json));
    }
    return all;
}

int quantize(const QuantizeOptions& options, train::StopSignal& stop) {
    std::error_code ignored;
    if (fs::exists(options.out, ignored))
        throw Failure("--out: error: " + options.out + " is there already; expected a new folder");
    const auto how = quantization_of(options);
    const auto run = find_run(options.run);
    std::cerr << run.note;
    LoadedModel original(job_of(options, run), run.folder, false, Restart::allowed);
    auto& session = original.session();
    check_model(options, run, session);
    const auto layers = quantize::quantizable_layers(session.linears());
    check_skip(how.skip, session, layers);
    const bool calibrates = how.inputs() == InputQuantization::fixed;
    const auto data = read_data(options, calibrates, original);
    if (options.max_drop && data.evaluation == nullptr)
        throw Failure("--max-drop: error: there is no data to evaluate on; name files with --eval");
    Calibrated inputs;
    if (calibrates) inputs = calibrated(options, original, data);
    std::optional<train::EvalResult> before;
    if (data.evaluation != nullptr) {
        quantize::LayerInputs seen(rows_of_layer, false);
        const runtime::ObserveCalls observing(seen);
        before = original.evaluate(data.evaluation, "original");
        if (inputs.rows.empty()) inputs.rows = seen.rows();
        if (options.max_drop && before->labels > 0 && !std::isfinite(before->loss))
            throw Failure("--max-drop: error: the loss of " + options.run +
                              " is not finite on these data: it has no score that could drop",
                          Exit::numerics);
    }
    const auto errors =
        quantize::sensitivities(session.parameters(), layers, how, inputs.scales, inputs.rows);
    auto candidates = errors;
    std::erase_if(candidates, [&](const auto& one) { return config::any_matches(how.skip, one.first); });
    Quantizing quantizing({original, data.evaluation, inputs.scales, label_scale_of(run), options.job.trust,
                           [&stop] { return static_cast<bool>(stop); }},
                          options.out);
    stop.note();  // so that the folder aside is removed
    const auto made = options.max_drop
                          ? quantizing.make_within(*options.max_drop, *before, ranked(candidates), how)
                          : quantizing.make(how);
    quantizing.commit();
    stop.end_at_once();
    session.settle_weights();
    ordered_json json{
        {"run", options.run},
        {"out", options.out},
        {"method", options.method},
        {"group", how.group},
        {"bytes", {{"before", model_bytes(run)}, {"after", bytes_below(options.out + "/model")}}},
        {"left_out", made.left_out},
        {"layers", layers_json(errors, inputs, made.how.skip)}};
    if (before && made.after) {
        json["before"] = scores_json(*before);
        json["after"] = scores_json(*made.after);
        const auto speeds = evaluation_speeds(original, *made.model, spread(*data.evaluation, timed_samples));
        json["before"]["samples_per_second"] = speeds.before;
        json["after"]["samples_per_second"] = speeds.after;
    }
    write_json(options.json, json);
    if (!options.json.on_stdout()) show(options, json);
    return Exit::fine;
}

void add_files(CLI::App& command, const char* flag, std::vector<std::string>& files, const char* help) {
    command.add_option(flag, files, help)->type_name("FILE");
}

}  // namespace

Action setup_quantize(CLI::App& command) {
    const auto options = std::make_shared<QuantizeOptions>();
    command.add_option("RUN|FOLDER", options->run, named_run_help)->required()->type_name("");
    command
        .add_option("--method", options->method,
                    "dynamic: weights and inputs in 8 bits; static: so too, with scales of inputs that "
                    "calibration finds; weight-int8, weight-int4: weights alone")
        ->required()
        ->check(CLI::IsMember({"dynamic", "static", "weight-int8", "weight-int4"}))
        ->transform([](std::string written) {  // before it is checked; configurations have weight_int4
            std::ranges::replace(written, '_', '-');
            return written;
        })
        ->type_name("METHOD");
    add_number(command, "--group", options->group,
               "columns of a weight that share a scale, a multiple of 16; 0: whole rows, as is usual for 8 "
               "bits; usual for 4: 64",
               "N", whole_number(0, 65536));
    add_files(command, "--calibrate", options->calibrate,
              "files of the form that the model was trained on, of which --method static takes the ranges of "
              "inputs; the run's own training data otherwise");
    command
        .add_option("--range", options->rule,
                    "of inputs: minmax, all of them; percentile, without the largest; entropy, where the "
                    "least information is lost")
        ->check(CLI::IsMember({"minmax", "percentile", "entropy"}))
        ->type_name("RULE")
        ->capture_default_str();
    add_number(command, "--percentile", options->percent,
               "of --range percentile: the share within, in percent", "P", cli::number(50.0, 100.0))
        ->capture_default_str();
    add_number(command, "--samples", options->samples, "to calibrate on, from all over the data", "N",
               whole_number(1, 1'000'000))
        ->capture_default_str();
    add_files(command, "--eval", options->eval,
              "files to evaluate on; the run's own evaluation data otherwise, or the files of --calibrate");
    command
        .add_option("--skip", options->skip,
                    "linear layers that stay floats, by name; * stands for any characters; may be given "
                    "several times")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    command
        .add_option("--max-drop", options->max_drop,
                    "leave out the most sensitive layers until the score drops by no more: accuracy, as a "
                    "share of all labels; else perplexity or loss, as a share of what it was")
        ->type_name("X")
        ->check(cli::number(0.0));
    command.add_option("--out", options->out, "folder to make")->required()->type_name("DIR");
    add_overrides(command, options->job, "set one value of the configuration");
    add_json(command, options->json);
    return [options, &command] {
        check_together(command, *options);
        train::StopSignal stop;
        try {
            return quantize(*options, stop);
        } catch (const QuantizingStopped&) {
            std::cerr << "stopped: " + base::printable(options->out) + " was not made\n";
            return stop.exit_code();
        }
    };
}

}  // namespace switchyard::cli

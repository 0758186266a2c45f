// switchyard bench: components against each other, one operation at a time.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>

#include <ATen/Parallel.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/printable.h"
#include "core/kernel/machine/cpu_allocator.h"
#include "core/kernel/machine/host_info.h"
#include "core/kernel/resolver/resolver.h"
#include "core/workbench/bench/overhead.h"
#include "core/workbench/cli/bench/bench_read.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/commands.h"
#include "core/workbench/cli/job/auto_choice.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/model/planning.h"

namespace switchyard::cli {
namespace {

// Plugins, memory and threads as the options and the configuration say.
class Bench {
public:
    explicit Bench(const BenchOptions& options)
        : options_(options),
          host_(machine::this_host(machine::Look::cpu_only)),
          job_(load_job(options.job, host_)),
          registry_(job_.records),
          candidates_(model::candidates(registry_)) {
        if (job_.config.run.device != Device::cpu)
            throw Failure("run.device: bench times on the CPU; expected cpu, got " +
                          std::string(name(job_.config.run.device)));
        const auto& runtime = job_.config.runtime;
        machine::install_cpu_allocator(runtime.allocator);
        const auto threads = options.threads > 0 ? options.threads : static_cast<int>(runtime.threads);
        set_threads(threads);
    }

    int operators(bench::BenchRequest request) {
        const Kind kind = request.settings.kind;
        request.slot = job_.config.slot(kind);
        request.backends = choose_backends(options_, kind, candidates_);
        request.base = choose_base(options_, kind, candidates_, request.backends);
        read_bench_sweep(options_, candidates_, request);
        auto report = bench::run_bench(request, world());
        report.memory_budget_bytes = request.memory_budget_bytes;
        report.host = host_;
        report.command = command_line();
        report.seed = options_.seed;
        report.threads = at::get_num_threads();
        report.allocator = std::string(name(job_.config.runtime.allocator));
        return show(bench::to_json(report), bench::to_text(report), report.exit_code());
    }

    int overhead(const bench::BenchRequest& asked, const std::vector<bench::BenchSettings>& settings) {
        const auto backends =
            options_.backends.empty() ? std::vector<std::string>{"torch"} : options_.backends;
        for (const auto& backend : backends) check_overhead_backend(backend, settings);
        std::vector<bench::BenchRequest> requests;
        for (const auto& of_kind : settings) {
            requests.push_back(asked);
            requests.back().settings = of_kind;
            requests.back().slot = job_.config.slot(of_kind.kind);
            requests.back().backends = backends;
        }
        const auto report = bench::run_overhead(requests, world());
        return show(bench::to_json(report), bench::to_text(report), report.exit_code());
    }

private:
    bench::BenchWorld world() {
        return {candidates_, registry_, host_, stopwatch_,
                [](const std::string& text) { show_progress(text); }};
    }

    void check_overhead_backend(const std::string& backend,
                                const std::vector<bench::BenchSettings>& settings) const {
        std::string error;
        for (const auto& of_kind : settings) {
            const auto named = resolver::find_named(of_kind.kind, backend, candidates_);
            if (named.candidate != nullptr) return;
            error = named.error;
        }
        throw Failure("--backends " + base::quoted(backend) + ": " + error);
    }

    int show(const nlohmann::json& json, const std::string& text, int code) const {
        show_progress("");
        auto complete = json;
        complete["host"] = bench::to_json(host_);
        complete["command"] = command_line();
        complete["seed"] = options_.seed;
        complete["threads"] = at::get_num_threads();
        complete["allocator"] = name(job_.config.runtime.allocator);
        write_json(options_.json, complete);
        if (!options_.json.on_stdout()) std::cout << text;
        return code;
    }

    const BenchOptions& options_;
    HostInfo host_;
    Job job_;
    runtime::Registry registry_;
    std::vector<resolver::Candidate> candidates_;
    bench::HostStopwatch stopwatch_;
};

int run_operators(const BenchOptions& options) {
    const Kind kind = read_bench_kind(options.what);
    bench::BenchRequest request;
    request.settings = read_bench_settings(options, kind);
    request.dtypes = read_bench_dtypes(options, kind);
    request.passes = read_bench_passes(options, kind);
    request.shapes = read_bench_shapes(options, request.settings);
    request.timing = read_bench_timing(options);
    return Bench(options).operators(std::move(request));
}

// In float32 unless told otherwise; attention causal and not.
int run_overhead(const BenchOptions& options) {
    bench::BenchRequest request;
    request.dtypes = options.dtypes.empty() ? std::vector<DType>{DType::float32}
                                            : read_bench_dtypes(options, Kind::attention);
    request.timing = read_bench_timing(options);
    std::vector<bench::BenchSettings> settings;
    for (const Kind kind : all_kinds) {
        if (facts_of(kind).measured) settings.push_back(read_bench_settings(options, kind));
    }
    return Bench(options).overhead(request, settings);
}

int run(const BenchOptions& options) {
    if (options.what == "overhead") return run_overhead(options);
    return run_operators(options);
}

constexpr const char* of_one = "One operation";
constexpr const char* of_attention = "Attention";
constexpr const char* of_rows = "Normalization, activation, loss";
constexpr const char* of_parameters = "Normalization, activation, linear";
constexpr const char* of_optimizer = "Optimizer";

using Words = std::vector<std::string>;

// What an option is for; empty: for everything. The groups of the help are coarser.
Words served_by(const CLI::Option& option) {
    static const Words operations{"attention", "normalization", "activation", "loss", "optimizer", "linear"};
    static const Words attention{"attention", "overhead"}, normalization{"normalization", "overhead"},
        activation{"activation", "overhead"}, loss{"loss", "overhead"}, optimizer{"optimizer", "overhead"},
        parameters{"normalization", "activation", "linear", "overhead"};
    static const std::map<std::string, Words> options{
        {"--sweep", operations},      {"--memory-budget", operations},
        {"--base", operations},       {"--shape", operations},
        {"--pass", operations},       {"--dropout", {"attention", "normalization", "activation", "overhead"}},
        {"--causal", attention},      {"--mask", attention},
        {"--lengths", attention},     {"--layout", attention},
        {"--norm", normalization},    {"--residual", normalization},
        {"--activation", activation}, {"--label-smoothing", loss},
        {"--z-loss", loss},           {"--in-place", loss},
        {"--bias", parameters},       {"--parameter-dtype", parameters},
        {"--algorithm", optimizer},   {"--clip", optimizer}};
    const auto found = options.find(option.get_name());
    return found == options.end() ? Words{} : found->second;
}

// An option that says nothing of what is timed was meant for something else.
void check_options(const CLI::App& command, const std::string& what) {
    if (what == "layer" || what == "step")
        throw Failure("there is no bench " + what +
                      ": whole training steps are timed by `switchyard compare CONFIG --stacks A,B`");
    if (what != "overhead") (void)read_bench_kind(what);
    for (const auto* option : command.get_options()) {
        const auto words = option->count() == 0 ? Words{} : served_by(*option);
        if (!words.empty() && std::find(words.begin(), words.end(), what) == words.end())
            throw Failure(option->get_name() + " is for bench " + joined(words) + "; bench " + what +
                          " does not use it");
    }
}

template <class Value>
CLI::Option* list(CLI::App& command, const char* flag, Value& value, const std::string& help) {
    return command.add_option(flag, value, help)
        ->delimiter(',')
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all();
}

void add_common(CLI::App& command, BenchOptions& options) {
    list(command, "--backends", options.backends,
         "components to compare, [plugin/]component[@variant]; default: all that are usable")
        ->type_name("A,B");
    command
        .add_option("--sweep", options.sweep,
                    "run a backend for each value of one of its options, as chunk_size or chunk_size=64,256")
        ->type_name("OPTION[=A,B]")
        ->group(of_one);
    command
        .add_option("--memory-budget", options.memory_budget,
                    "with --sweep: name the fastest value whose extra memory stays within it")
        ->type_name("BYTES")
        ->group(of_one);
    command.add_option("--base", options.base, "the backend that speedups are relative to; default: torch")
        ->type_name("NAME")
        ->group(of_one);
    command
        .add_option("--shape", options.shapes,
                    "attention B,H,N,D or B,H,K,N,M,D; normalization and activation ROWS,WIDTH; loss "
                    "ROWS,CLASSES[,WIDTH]; linear ROWS,IN,OUT; "
                    "optimizer bert-base, mini-gpt or 4096x768,12x768x768; may be repeated")
        ->type_name("SHAPE")
        ->expected(1)
        ->allow_extra_args(false)
        ->take_all()
        ->group(of_one);
    list(command, "--dtype", options.dtypes, "dtypes of the tensors; default: float32,bfloat16")
        ->type_name("A,B");
    list(command, "--pass", options.passes, "forward, backward, forward_backward; of an optimizer: step")
        ->type_name("A,B")
        ->group(of_one);
    add_number(command, "--dropout", options.dropout, "probability of dropout", "P", number(0.0, 1.0));
    add_number(command, "--time-budget", options.time_budget, "time for all tables together, roughly",
               "SECONDS", number(1e-3, 1e9))
        ->capture_default_str();
    add_number(command, "--blocks", options.blocks, "samples of each backend, however long they take", "N",
               whole_number(1, 100000));
    add_number(command, "--threads", options.threads, "threads of LibTorch; default: all cores", "N",
               whole_number(1, 4096));
    add_number(command, "--seed", options.seed, "seed of inputs, order and intervals", "N", whole_number(0))
        ->capture_default_str();
    add_overrides(command, options.job,
                  "a value of the configuration, as in --set attention.options.chunked.chunk_size=256 or "
                  "--set runtime.allocator=malloc; may be repeated");
    add_json(command, options.json);
}

void add_of_kinds(CLI::App& command, BenchOptions& options) {
    command.add_flag("--causal", options.causal, "a query attends to no later key")->group(of_attention);
    list(command, "--mask", options.masks,
         "sliding_window=N, prefix=N, alibi, relative_bias[=BUCKETS], soft_cap=X, dense_bias, causal")
        ->type_name("A,B")
        ->group(of_attention);
    command
        .add_option("--lengths", options.lengths,
                    "lengths of the sequences: a range as 64-512, or a median and a largest length as 40:512")
        ->type_name("MIN-MAX")
        ->group(of_attention);
    command.add_option("--layout", options.layout, "padded or packed")
        ->type_name("LAYOUT")
        ->group(of_attention);
    command.add_option("--norm", options.norm, "layer_norm or rms_norm")->type_name("NAME")->group(of_rows);
    command
        .add_option("--activation", options.activation,
                    "gelu_erf, gelu_tanh, relu, silu, swiglu, geglu_erf, geglu_tanh, reglu or identity")
        ->type_name("NAME")
        ->group(of_rows);
    command.add_flag("--residual", options.residual, "norm(residual + dropout(x + bias))")->group(of_rows);
    add_number(command, "--label-smoothing", options.label_smoothing, "label smoothing of the loss", "E",
               number(0.0, 1.0))
        ->group(of_rows);
    add_number(command, "--z-loss", options.z_loss, "factor of the squared log-normalizer in the loss", "Z",
               number(0.0, 1e6))
        ->group(of_rows);
    command.add_flag("--in-place", options.in_place, "the gradients may overwrite the given logits")
        ->group(of_rows);
    command
        .add_flag("--bias", options.bias,
                  "a bias is added: to the input first; of a linear layer, to the output")
        ->group(of_parameters);
    command.add_option("--parameter-dtype", options.parameter_dtype, "dtype of weight and bias")
        ->type_name("DTYPE")
        ->group(of_parameters)
        ->capture_default_str();
    command.add_option("--algorithm", options.algorithm, "adamw, adam, sgd, lion, lamb or muon")
        ->type_name("NAME")
        ->group(of_optimizer);
    add_number(command, "--clip", options.clip, "clip gradients by this norm in the same step", "NORM",
               number(0.0, 1e30))
        ->group(of_optimizer);
}

}  // namespace

Action setup_bench(CLI::App& command) {
    const auto options = std::make_shared<BenchOptions>();
    command
        .add_option("WHAT", options->what,
                    "attention, normalization, activation, loss, optimizer, linear; overhead: what "
                    "components cost over the plain LibTorch calls")
        ->required()
        ->type_name("");
    add_common(command, *options);
    add_of_kinds(command, *options);
    return [options, &command] {
        check_options(command, options->what);
        return run(*options);
    };
}

}  // namespace switchyard::cli

#include "core/workbench/cli/bench/bench_read.h"

#include <algorithm>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/config/check_value.h"
#include "core/kernel/config/suggest.h"
#include "core/kernel/loader/search_path.h"
#include "core/kernel/resolver/names.h"
#include "core/kernel/resolver/resolver.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {
namespace {

using Words = std::vector<std::string>;

template <class Enum>
Enum read_name(const std::string& option, const std::string& text) {
    // Formulas of components' own have no reference that results could be held against.
    const Words known(names<Enum>.begin(), names<Enum>.begin() + known_formulas<Enum>);
    if (std::ranges::count(known, text) > 0) return *parse<Enum>(text);
    const auto near = config::suggest(text, known);
    throw Failure(option + " " + base::quoted(text) + ": expected one of " + joined(known) +
                  (near.empty() ? "" : "; did you mean " + near + "?"));
}

void check_number(const char* option, double value, double low, double high, const std::string& expected) {
    if (value >= low && value <= high) return;
    throw Failure(std::string(option) + ": expected " + expected + ", got " + base::digits(value));
}

std::string bad_dtype(const std::string& text) {
    const Words known{"float32", "float64", "bfloat16", "float16"};
    const auto near = config::suggest(text, known);
    return "--dtype " + base::quoted(text) + ": expected one of " + joined(known) +
           (near.empty() ? "" : "; did you mean " + near + "?");
}

}  // namespace

Kind read_bench_kind(const std::string& text) {
    Words known;
    for (const Kind kind : all_kinds) {
        if (!facts_of(kind).measured) continue;
        if (name(kind) == text) return kind;
        known.emplace_back(name(kind));
    }
    known.emplace_back("overhead");
    const auto near = config::suggest(text, known);
    throw Failure("there is no bench of \"" + base::quoted(text) + "\"" +
                  (near.empty() ? "" : "; did you mean " + near + "?") + "\nthere is one of " +
                  joined(known));
}

bench::BenchSettings read_bench_settings(const BenchOptions& options, Kind kind) {
    bench::BenchSettings settings;
    settings.kind = kind;
    settings.seed = options.seed;
    settings.dropout = options.dropout;
    settings.causal = options.causal;
    settings.layout = read_name<Layout>("--layout", options.layout);
    settings.norm = read_name<NormKind>("--norm", options.norm);
    settings.activation = read_name<ActivationKind>("--activation", options.activation);
    settings.algorithm = read_name<OptimizerKind>("--algorithm", options.algorithm);
    settings.parameter_dtype = read_name<DType>("--parameter-dtype", options.parameter_dtype);
    settings.bias = options.bias;
    settings.residual = options.residual;
    settings.label_smoothing = options.label_smoothing;
    settings.z_loss = options.z_loss;
    settings.in_place = options.in_place;
    settings.max_grad_norm = options.clip;
    check_number("--dropout", options.dropout, 0.0, 0.999, "a probability below 1");
    check_number("--label-smoothing", options.label_smoothing, 0.0, 1.0, "a number from 0 to 1");
    check_number("--z-loss", options.z_loss, 0.0, 1e30, "a factor, or 0 for none");
    check_number("--clip", options.clip, 0.0, 1e30, "a norm, or 0 for none");
    for (const auto& mask : options.masks) {
        const auto error = bench::read_mask(mask, settings);
        if (!error.empty()) throw Failure("--mask " + base::quoted(mask) + ": " + error);
    }
    if (!options.lengths.empty()) {
        const auto error = bench::read_lengths(options.lengths, settings.lengths);
        if (!error.empty()) throw Failure("--lengths: " + error);
    }
    return settings;
}

std::vector<DType> read_bench_dtypes(const BenchOptions& options, Kind kind) {
    auto texts = options.dtypes;
    if (texts.empty()) texts = kind == Kind::optimizer ? Words{"float32"} : Words{"float32", "bfloat16"};
    std::vector<DType> dtypes;
    for (const auto& text : texts) {
        const auto dtype = parse<DType>(text);
        if (!dtype || *dtype > DType::float16) throw Failure(bad_dtype(text));
        dtypes.push_back(*dtype);
    }
    return dtypes;
}

std::vector<bench::Pass> read_bench_passes(const BenchOptions& options, Kind kind) {
    using bench::Pass;
    std::vector<Pass> all{Pass::forward, Pass::backward, Pass::forward_backward};
    if (kind == Kind::optimizer) all = {Pass::step};
    // A loss may make its gradients in forward, so that backward alone says nothing.
    if (kind == Kind::loss) all = {Pass::forward, Pass::forward_backward};
    const bool in_place = kind == Kind::loss && options.in_place;
    if (in_place) all = {Pass::forward_backward};
    const bool long_running = kind == Kind::attention || kind == Kind::linear;
    if (options.passes.empty())
        return long_running ? std::vector{Pass::forward, Pass::forward_backward} : all;
    std::vector<Pass> passes;
    for (const auto& text : options.passes) {
        const auto pass = read_name<Pass>("--pass", text);
        if (std::find(all.begin(), all.end(), pass) == all.end()) {
            throw Failure("--pass " + base::quoted(text) + ": " + std::string(name(kind)) +
                          (kind == Kind::optimizer ? " has the pass step"
                           : in_place              ? " in place has the pass forward_backward"
                           : kind == Kind::loss    ? " has the passes forward and forward_backward"
                                                : " has the passes forward, backward and forward_backward"));
        }
        passes.push_back(pass);
    }
    return passes;
}

std::vector<bench::BenchShape> read_bench_shapes(const BenchOptions& options,
                                                 const bench::BenchSettings& settings) {
    std::vector<bench::BenchShape> shapes;
    for (const auto& text : options.shapes.empty() ? bench::default_shapes(settings.kind) : options.shapes) {
        auto result = bench::parse_shape(settings.kind, text);
        if (!result.shape) throw Failure(result.error);
        const auto error = bench::check_settings(settings, *result.shape);
        if (!error.empty()) throw Failure(error);
        shapes.push_back(std::move(*result.shape));
    }
    return shapes;
}

namespace {

// A component by another spelling is still the same one.
bool same_backend(const std::string& one, const std::string& other, Kind kind,
                  const std::vector<resolver::Candidate>& candidates) {
    if (one == other) return true;
    const auto a = resolver::find_named(kind, one, candidates),
               b = resolver::find_named(kind, other, candidates);
    return a.candidate != nullptr && a.candidate == b.candidate && a.variant == b.variant;
}

}  // namespace

// Those that were named, checked; or all that are usable. Each once.
Words choose_backends(const BenchOptions& options, Kind kind,
                      const std::vector<resolver::Candidate>& candidates) {
    Words chosen;
    for (const auto& wanted : options.backends) {
        const auto named = resolver::find_named(kind, wanted, candidates);
        if (named.candidate == nullptr)
            throw Failure("--backends " + base::quoted(wanted) + ": " + named.error);
        const auto same = [&](const std::string& other) {
            return same_backend(other, wanted, kind, candidates);
        };
        if (std::ranges::none_of(chosen, same)) chosen.push_back(wanted);
    }
    if (!chosen.empty()) return chosen;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind == kind && candidate.usable)
            chosen.push_back(resolver::short_name(candidate, candidates));
    }
    if (chosen.empty()) {
        throw Failure("no plugin has a component for " + std::string(name(kind)) + "\n" +
                      searched_places(loader::standard_search_path()));
    }
    return chosen;
}

// What ratios are over: the one that was named, else torch, else the first; among the backends, at their
// head.
std::string choose_base(const BenchOptions& options, Kind kind,
                        const std::vector<resolver::Candidate>& candidates, Words& backends) {
    std::string base = options.base;
    if (!base.empty()) {
        const auto named = resolver::find_named(kind, base, candidates);
        if (named.candidate == nullptr) throw Failure("--base " + base::quoted(base) + ": " + named.error);
    } else {
        base =
            resolver::find_named(kind, "torch", candidates).candidate != nullptr ? "torch" : backends.front();
    }
    const auto found = std::ranges::find_if(
        backends, [&](const std::string& backend) { return same_backend(backend, base, kind, candidates); });
    if (found != backends.end()) {
        if (options.base.empty()) base = *found;
        backends.erase(found);
    }
    backends.insert(backends.begin(), base);
    return base;
}

namespace {

// The option as the first of the backends that has it declares it.
const ValueSpec* declared_option(const std::string& option, Kind kind, const Words& backends,
                                 const std::vector<resolver::Candidate>& candidates, Words& known) {
    for (const auto& backend : backends) {
        const auto named = resolver::find_named(kind, backend, candidates);
        if (named.candidate == nullptr) continue;
        for (const auto& spec : named.candidate->manifest.options) {
            if (spec.key == option) return &spec;
            known.push_back(spec.key);
        }
    }
    return nullptr;
}

// Sequences' length, where there is one.
std::int64_t longest_of(const std::vector<bench::BenchShape>& shapes) {
    std::int64_t longest = 0;
    for (const auto& shape : shapes) longest = std::max(longest, shape.q_length);
    return longest;
}

}  // namespace

void read_bench_sweep(const BenchOptions& options, const std::vector<resolver::Candidate>& candidates,
                      bench::BenchRequest& request) {
    if (!options.memory_budget.empty()) {
        const auto bytes = bench::read_bytes(options.memory_budget);
        if (!bytes || *bytes == 0)
            throw Failure("--memory-budget " + base::quoted(options.memory_budget) +
                          ": expected bytes, as in 96MB or 1.5GB");
        if (options.sweep.empty())
            throw Failure("--memory-budget chooses among the values of a --sweep; there is none");
        request.memory_budget_bytes = *bytes;
    }
    if (options.sweep.empty()) return;
    bench::Sweep sweep;
    const auto error = bench::read_sweep(options.sweep, longest_of(request.shapes), sweep);
    if (!error.empty()) throw Failure("--sweep " + base::quoted(options.sweep) + ": " + error);
    Words known;
    const auto* const spec =
        declared_option(sweep.option, request.settings.kind, request.backends, candidates, known);
    if (spec == nullptr) {
        const auto near = config::suggest(sweep.option, known);
        throw Failure("--sweep " + sweep.option + ": none of the backends (" + joined(request.backends) +
                      ") has an option of that name" + (near.empty() ? "" : "; did you mean " + near + "?"));
    }
    if (spec->type != ValueType::integer)
        throw Failure("--sweep " + sweep.option + ": expected an option that is a whole number, this is a " +
                      std::string(name(spec->type)));
    for (const auto value : sweep.values) {
        if (!config::in_range(spec->limits, static_cast<double>(value)))
            throw Failure("--sweep " + base::quoted(options.sweep) + ": " + std::to_string(value) +
                          " is out of range; " + sweep.option + " is " + config::expected_text(*spec));
    }
    request.sweep = std::move(sweep);
}

bench::TimingOptions read_bench_timing(const BenchOptions& options) {
    bench::TimingOptions timing;
    timing.time_budget_ms = 1000.0 * options.time_budget;
    timing.seed = options.seed;
    if (options.blocks > 0) timing.min_blocks = timing.max_blocks = options.blocks;
    return timing;
}

}  // namespace switchyard::cli

#include "core/workbench/model/planning.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/kernel/base/stdout_redirect.h"
#include "core/kernel/config/name_pattern.h"
#include "core/kernel/config/shadow_checks.h"
#include "core/kernel/config/trainable.h"
#include "core/kernel/loader/content_hash.h"
#include "core/kernel/resolver/request_fields.h"
#include "core/kernel/runtime/component_handle.h"
#include "core/kernel/runtime/guard.h"
#include "core/kernel/runtime/services.h"
#include "core/workbench/model/auto_precision.h"
#include "core/workbench/model/outline.h"
#include "core/workbench/model/slow_components.h"
#include "core/workbench/model/thread_counts.h"

namespace switchyard::model {
namespace {

// What a plugin is made of: its library, and the one beside it for CUDA.
std::string hash_of(const std::string& library) {
    const std::filesystem::path path(library);
    const auto beside = path.parent_path() / (path.stem().string() + "_cuda" + path.extension().string());
    std::error_code ignored;
    const auto hash = loader::content_hash(library);
    return std::filesystem::exists(beside, ignored)
               ? loader::text_hash(hash + loader::content_hash(beside.string()))
               : hash;
}

Reason obstacle_of(const loader::GateOutcome& gate) {
    const auto code = gate.gate == loader::Gate::cpu_features ? Code::CpuFeature : Code::Library;
    const auto what = "gate " + std::string(name(gate.gate));
    return {code, what, gate.expected, gate.got.empty() ? gate.reason : gate.reason + ": " + gate.got,
            gate.hint};
}

Reason obstacle_of(const std::string& component_failure) {
    return {Code::Internal, "probe", "", component_failure, "`switchyard plugins info` shows more"};
}

// Loads the plugin at the first question.
Verdict ask(runtime::Registry& registry, const std::string& plugin, Kind kind, const std::string& id,
            const Request& request, const HostInfo& host, const Options& options,
            const std::string& variant) {
    if (const auto loaded = registry.find(kind, plugin, id))
        return runtime::supports(*loaded, request, host, options, variant);
    Verdict verdict;
    const auto* record = registry.find(plugin);
    const auto* failure = record == nullptr ? nullptr : record->failure();
    verdict.reasons.push_back(failure == nullptr
                                  ? Reason{Code::Internal, "plugin", "", "it could not be loaded", ""}
                                  : obstacle_of(*failure));
    return verdict;
}

// A policy answers for its dtypes wherever it is made.
std::shared_ptr<const Request> request_for_questions(const resolver::PlanRow& row,
                                                     const runtime::LoadedComponent& loaded,
                                                     const HostInfo& host) {
    const auto& chosen = *row.chosen;
    auto on_cpu = resolver::clone(Kind::precision, *chosen.request);
    on_cpu->device = Device::cpu;
    if (runtime::supports(loaded, *on_cpu, host, chosen.options, chosen.variant).ok()) return on_cpu;
    return chosen.request;
}

struct Policy {
    std::shared_ptr<const Request> request;
    runtime::Handle<Precision> handle;
};

// Nothing where the host is a described one and the policy can't be made without its device. Throws
// runtime::PluginError.
std::shared_ptr<const Policy> make_policy(const resolver::PlanRow& row,
                                          const runtime::LoadedComponent& loaded, const HostInfo& host) {
    const auto request = request_for_questions(row, loaded, host);
    CreateInfo info;
    info.request = request.get();
    info.variant = row.chosen->variant;
    info.options = row.chosen->options;
    info.host = &host;
    info.services = runtime::services();
    try {
        return std::make_shared<const Policy>(Policy{request, runtime::create<Precision>(loaded, info)});
    } catch (const std::exception&) {
        if (!host.described || request->device == Device::cpu) throw;
        return nullptr;
    }
}

// Keeps the policy as long as the answers are wanted. Throws runtime::PluginError.
Dtypes dtypes_of(const config::Config& config, const resolver::PlanRow& row, runtime::Registry& registry,
                 const HostInfo& host) {
    const auto& chosen = *row.chosen;
    const auto loaded = registry.find(Kind::precision, chosen.plugin, chosen.component);
    if (!loaded) throw std::runtime_error("it could not be loaded");
    const auto policy = make_policy(row, *loaded, host);
    if (policy == nullptr && config.precision.compute_dtype)
        return configured_dtypes(with_precision_of(config, row));
    if (policy == nullptr)
        throw std::runtime_error(
            "it cannot be asked for its dtypes without the device; write precision.compute_dtype");
    const auto site = [plugin = chosen.plugin, component = chosen.component](const char* call) {
        return runtime::CallSite{plugin.c_str(), component.c_str(), call};
    };
    const auto stored = runtime::guarded(site("precision.storage"),
                                         [&] { return policy->handle->storage(OpClass::linear, "model"); });
    if (stored != chosen.request->dtype) {
        throw std::runtime_error("it stores parameters in " + std::string(name(stored)) +
                                 ", but serves a model that stores them in " +
                                 std::string(name(chosen.request->dtype)) +
                                 "; write precision.parameter_dtype = \"" + std::string(name(stored)) + "\"");
    }
    return {[=](OpClass op, const std::string& layer) {
                return runtime::guarded(site("precision.compute"),
                                        [&] { return policy->handle->compute(op, layer); });
            },
            [=](OpClass op, const std::string& layer) {
                return runtime::guarded(site("precision.storage"),
                                        [&] { return policy->handle->storage(op, layer); });
            },
            [=](const std::string& layer) {
                return runtime::guarded(site("precision.tf32"), [&] { return policy->handle->tf32(layer); });
            }};
}

// "encoder.0.attention", "encoder.0" and "encoder" for "encoder.0.attention.q", and that itself.
void add_with_parents(std::string name, std::set<std::string>& names) {
    for (; !name.empty(); name.resize(name.find('.') == std::string::npos ? 0 : name.rfind('.')))
        names.insert(name);
}

// A policy's list `keep` holds patterns of layers that it leaves alone, each for what stands below it, too
// (switchyard/sdk/name_pattern.h). One that is no layer's changes nothing, which nobody asks for. `asked`:
// what the policy was asked about. Throws std::runtime_error.
void check_kept(const config::Config& config, const Options& options, const std::set<std::string>& asked) {
    const auto found = options.values().find("keep");
    const auto* const patterns =
        found == options.values().end() ? nullptr : std::get_if<std::vector<std::string>>(&found->second);
    if (patterns == nullptr || patterns->empty()) return;
    std::set<std::string> all{config::head_of(config.task)};
    for (const auto& layer : asked) add_with_parents(layer, all);
    const auto described = describe_names(config);
    for (const auto& layer : described.linear_layers) add_with_parents(layer, all);
    for (const auto& parameter : described.parameters)
        add_with_parents(parameter.name.substr(0, parameter.name.rfind('.')), all);
    const std::vector<std::string> names(all.begin(), all.end());
    for (const auto& pattern : *patterns) {
        const auto fits = [&](const std::string& name) {
            return config::any_matches({pattern, pattern + ".*"}, name);
        };
        if (std::ranges::any_of(names, fits)) continue;
        throw std::runtime_error("option keep: \"" + pattern + "\" is the name of no layer; " +
                                 config::near_pattern(pattern, names));
    }
}

// Told as the precision slot's error: all the other rows are still planned, so that everything is told at
// once.
std::vector<resolver::SlotUse> outline_with_policy(const config::Config& config, resolver::PlanRow& precision,
                                                   runtime::Registry& registry, const HostInfo& host,
                                                   Planned planned) {
    const bool checked = planned == Planned::first && config::trains(config);
    if (precision.chosen) {
        try {
            auto dtypes = dtypes_of(config, precision, registry, host);
            std::set<std::string> asked;
            dtypes.compute = [&asked, policy = std::move(dtypes.compute)](OpClass op,
                                                                          const std::string& layer) {
                asked.insert(layer);
                return policy(op, layer);
            };
            auto uses = outline(with_precision_of(config, precision), dtypes);
            if (checked) check_kept(config, precision.chosen->options, asked);
            return uses;
        } catch (const std::exception& error) {
            precision.error =
                precision.chosen->plugin + "/" + precision.chosen->component + ": " + error.what();
            precision.chosen.reset();
        }
    }
    return outline(config, configured_dtypes(config));
}

// The same use, of the candidate that is to run beside what was chosen for it.
resolver::PlanRow shadow_row(const config::Config& config, const resolver::SlotUse& trusted,
                             const std::vector<resolver::Candidate>& all, const HostInfo& host,
                             const resolver::ResolveOptions& options) {
    auto use = trusted;
    use.shadow = true;
    use.config.backend = trusted.config.shadow.backend;
    const auto origin = config.origins.find(config::shadow_key(use.kind));
    use.origin = origin == config.origins.end() ? config::Origin{} : origin->second;
    auto row = resolver::resolve(use, all, host, options);
    const bool scaled = use.kind == Kind::linear &&
                        KindTraits<Kind::linear>::request(*use.request).weight_format == WeightFormat::scaled;
    if (scaled && row.chosen) {
        row.error =
            "the precision policy scales these operands and keeps a history of each, which a second call "
            "would change; expected no shadow, or a precision that computes in a dtype of its own";
        row.chosen.reset();
    }
    return row;
}

void add_shadows(const config::Config& config, resolver::Plan& plan,
                 const std::vector<resolver::Candidate>& all, const HostInfo& host,
                 const resolver::ResolveOptions& options) {
    if (!config::has_shadow(config)) return;
    for (const auto& row : plan.rows) {
        const bool can_be = std::ranges::count(config::shadowed_kinds, row.use.kind) > 0;
        if (can_be && row.use.phase == Phase::train && row.use.config.shadow.on())
            plan.shadows.push_back(shadow_row(config, row.use, all, host, options));
    }
}

}  // namespace

std::vector<resolver::Candidate> candidates(runtime::Registry& registry) {
    std::vector<resolver::Candidate> list;
    for (const auto& record : registry.records()) {
        if (!record.manifest) continue;
        const auto* failure = record.failure();
        const auto hash = failure == nullptr ? hash_of(record.path) : std::string{};
        for (const auto& component : record.manifest->components) {
            resolver::Candidate candidate;
            candidate.plugin = record.manifest->name;
            candidate.version = record.manifest->version;
            candidate.manifest = component;
            candidate.library_path = record.path;
            candidate.content_hash = hash;
            const auto fault = record.component_failure(component.kind, component.id);
            const auto* const trust = record.trust_of(component.kind, component.id);
            const bool trusted = trust == nullptr || !trust->refusal;
            candidate.usable = failure == nullptr && fault.empty() && trusted;
            if (trust != nullptr) {
                candidate.verification = trust->verification;
                candidate.uses = trust->uses;
            }
            if (failure != nullptr)
                candidate.obstacle = obstacle_of(*failure);
            else if (!trusted)
                candidate.obstacle = obstacle_of(*trust->refusal);
            else if (!fault.empty())
                candidate.obstacle = obstacle_of(fault);
            candidate.supports = [&registry, plugin = candidate.plugin, kind = component.kind,
                                  id = component.id](const Request& request, const HostInfo& host,
                                                     const Options& options, const std::string& variant) {
                return ask(registry, plugin, kind, id, request, host, options, variant);
            };
            list.push_back(std::move(candidate));
        }
    }
    return list;
}

resolver::Plan make_plan(const config::Config& config, runtime::Registry& registry, const HostInfo& host,
                         const resolver::ResolveOptions& wanted, Planned planned) {
    auto options = wanted;
    options.written_at = [&config](std::string_view key) { return config.written_at(key); };
    const base::StdoutRedirect aside;  // once for thousands of questions
    const auto all = candidates(registry);
    auto precision = resolve_precision(config, all, host, options);
    const auto uses = outline_with_policy(config, precision, registry, host, planned);
    auto plan = resolver::resolve(uses, all, host, options);
    plan.rows.insert(plan.rows.begin(), std::move(precision));
    add_shadows(config, plan, all, host, options);
    if (config.run.deterministic) note_thread_counts(plan, registry, host);
    if (plan.ok()) warn_of_slow_components(plan, registry, host);
    return plan;
}

}  // namespace switchyard::model

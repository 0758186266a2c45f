#include "core/workbench/model/auto_precision.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/kernel/resolver/request_fields.h"
#include "core/workbench/model/outline.h"

namespace switchyard::model {
namespace {

using config::PrecisionConfig;
using Precisions = KindTraits<Kind::precision>;
using resolver::Candidate;
using resolver::PlanRow;

std::vector<DType> dtypes_to_ask(const PrecisionConfig& wanted) {
    if (wanted.parameter_dtype) return {*wanted.parameter_dtype};
    return {DType::float32, DType::bfloat16, DType::float16, DType::float64};
}

std::vector<bool> scalings_to_ask(const PrecisionConfig& wanted, const Request& request) {
    if (wanted.loss_scaling) return {*wanted.loss_scaling};
    return request.phase == Phase::train ? std::vector<bool>{true, false} : std::vector<bool>{false};
}

// What a policy says to all that may be asked of it.
struct Settled {
    // The first that it serves, or the one that it has the least against.
    std::shared_ptr<const Request> request;
    Verdict verdict;
};

Settled settle(const PrecisionConfig& wanted, const Candidate& candidate, const Request& request,
               const HostInfo& host, const Options& options, const std::string& variant) {
    std::optional<Settled> best;
    for (const DType dtype : dtypes_to_ask(wanted)) {
        for (const bool scaling : scalings_to_ask(wanted, request)) {
            const auto asked = resolver::clone(Kind::precision, request);
            asked->dtype = dtype;
            Precisions::request(*asked).loss_scaling = scaling;
            Settled found{asked, candidate.supports(*asked, host, options, variant)};
            if (found.verdict.ok()) return found;
            if (!best || found.verdict.reasons.size() < best->verdict.reasons.size()) best = std::move(found);
        }
    }
    return *best;
}

// Candidates that answer for whatever `auto` may become.
std::vector<Candidate> asked_for_all(const std::vector<Candidate>& candidates,
                                     const PrecisionConfig& wanted) {
    std::vector<Candidate> list;
    for (const auto& candidate : candidates) {
        if (candidate.manifest.kind != Kind::precision) continue;
        auto& answering = list.emplace_back(candidate);
        if (!candidate.usable) continue;
        answering.supports = [wanted, candidate](const Request& request, const HostInfo& host,
                                                 const Options& options, const std::string& variant) {
            return settle(wanted, candidate, request, host, options, variant).verdict;
        };
    }
    return list;
}

const Candidate& candidate_of(const PlanRow& row, const std::vector<Candidate>& candidates) {
    return *std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& candidate) {
        return candidate.manifest.kind == Kind::precision && candidate.plugin == row.chosen->plugin &&
               candidate.manifest.id == row.chosen->component;
    });
}

std::string full_name(const PlanRow& row) { return row.chosen->plugin + "/" + row.chosen->component; }

PlanRow resolve_as(const config::Config& config, const std::vector<Candidate>& candidates,
                   const HostInfo& host, const resolver::ResolveOptions& options) {
    const auto& wanted = config.precision;
    auto row = resolver::resolve(outline_precision(config), asked_for_all(candidates, wanted), host, options);
    if (!row.chosen) return row;
    auto& chosen = *row.chosen;
    chosen.request =
        settle(wanted, candidate_of(row, candidates), *chosen.request, host, chosen.options, chosen.variant)
            .request;
    const auto request = resolver::clone(Kind::precision, *row.use.request);
    request->dtype = chosen.request->dtype;
    Precisions::request(*request).loss_scaling = Precisions::request(*chosen.request).loss_scaling;
    row.use.request = request;
    return row;
}

const char* switch_text(bool on) { return on ? "true" : "false"; }

// What is written of the two, where the policy that is named would serve the other.
std::string contradiction(const config::Config& config, const std::vector<Candidate>& candidates,
                          const HostInfo& host) {
    const auto& written = config.precision;
    auto freed = config;
    freed.precision.parameter_dtype.reset();
    freed.precision.loss_scaling.reset();
    const auto row = resolve_as(freed, candidates, host, {resolver::by_priority, false});
    if (!row.chosen) return "";
    const auto& served = Precisions::request(*row.chosen->request);
    std::string text;
    if (written.parameter_dtype && *written.parameter_dtype != served.dtype) {
        text += "\n    precision.parameter_dtype = \"" + std::string(name(*written.parameter_dtype)) +
                "\" (" + config.where("precision.parameter_dtype") + ") contradicts " + full_name(row) +
                ", which stores parameters in " + std::string(name(served.dtype)) +
                ": leave it out, or write \"auto\"";
    }
    if (written.loss_scaling && *written.loss_scaling != served.loss_scaling) {
        text += std::string("\n    precision.loss_scaling = ") + switch_text(*written.loss_scaling) + " (" +
                config.where("precision.loss_scaling") + ") contradicts " + full_name(row) +
                (served.loss_scaling ? ", which scales the loss" : ", whose range needs no loss scale") +
                ": leave it out, or write \"auto\"";
    }
    return text;
}

std::string in_words(const PrecisionConfig& written, const PrecisionRequest& request) {
    std::string text = "parameters in " + std::string(name(request.dtype));
    if (!written.parameter_dtype) text += " (auto)";
    const bool masters = size_of(request.dtype) < size_of(DType::float32);
    if (masters && request.phase == Phase::train) text += " with float32 masters";
    if (request.phase != Phase::train) return text;
    text += request.loss_scaling ? ", the loss is scaled" : ", no loss scaling";
    return written.loss_scaling ? text : text + " (auto)";
}

// Scaling that the policy has, and that was switched off.
std::string warning(const config::Config& config, const PlanRow& row, const Candidate& candidate,
                    const HostInfo& host) {
    const auto& written = config.precision.loss_scaling;
    if (!written || *written || row.use.phase != Phase::train) return "";
    const auto scaled = resolver::clone(Kind::precision, *row.chosen->request);
    Precisions::request(*scaled).loss_scaling = true;
    if (!candidate.supports(*scaled, host, row.chosen->options, row.chosen->variant).ok()) return "";
    return "precision.loss_scaling = false (" + config.where("precision.loss_scaling") +
           "): " + full_name(row) +
           " scales the loss because small gradients do not fit its dtype: below 6e-8 they are 0 in float16, "
           "and what they "
           "would teach is lost; leave it out, or write \"auto\"";
}

}  // namespace

PlanRow resolve_precision(const config::Config& config, const std::vector<Candidate>& candidates,
                          const HostInfo& host, const resolver::ResolveOptions& options) {
    auto row = resolve_as(config, candidates, host, options);
    if (!row.chosen) {
        const bool written = config.precision.parameter_dtype || config.precision.loss_scaling;
        if (written && !config.precision.automatic()) row.error += contradiction(config, candidates, host);
        return row;
    }
    row.notes.push_back(in_words(config.precision, Precisions::request(*row.use.request)));
    if (const auto text = warning(config, row, candidate_of(row, candidates), host); !text.empty())
        row.warnings.push_back(text);
    return row;
}

config::Config with_precision_of(config::Config config, const PlanRow& precision) {
    if (!precision.chosen) return config;
    const auto& request = Precisions::request(*precision.chosen->request);
    config.precision.parameter_dtype = request.dtype;
    config.precision.loss_scaling = request.loss_scaling;
    return config;
}

config::Config with_precision_of(config::Config config, const resolver::Plan& plan) {
    for (const auto& row : plan.rows) {
        if (row.use.kind == Kind::precision) return with_precision_of(std::move(config), row);
    }
    return config;
}

}  // namespace switchyard::model

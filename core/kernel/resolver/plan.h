// The plan: for every slot, phase and group of layers, which component was chosen, how, and why each other
// candidate was not.
//
// A plan is made without creating anything: candidates answer `supports` for a host that may only be
// described.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include <switchyard/interfaces/kinds.h>
#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/verdict.h>
#include "core/kernel/config/layer_rule.h"
#include "core/kernel/config/origin.h"
#include "core/kernel/config/slot_config.h"
#include "core/kernel/loader/manifest.h"
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/resolver/measurement.h"

namespace switchyard::resolver {

// The request is the one of the component's kind (AttentionRequest, ...), passed by its base.
using Supports =
    std::function<Verdict(const Request&, const HostInfo&, const Options&, const std::string& variant)>;

// One component of one plugin that was found. A plugin that failed a gate, but whose manifest could be read,
// is a candidate too: it is refused with the gate's reason, so that the plan can say why it was not taken.
struct Candidate {
    std::string plugin;
    std::string version;  // of the plugin
    ComponentManifest manifest;
    std::string library_path;
    std::string content_hash;  // of the library; what a saved plan holds
    bool usable = true;
    Reason obstacle{};  // if not usable: the gate that it failed
    loader::Verification verification = loader::Verification::unknown;
    Supports supports;                        // if usable; never throws
    std::vector<loader::VerifiedUse> uses{};  // that a run of conformance looked at

    // "plugin/component", as it can be written in the configuration.
    std::string full_name() const { return plugin + "/" + manifest.id; }
};

// Something that a model needs done, as one request for a range of shapes.
struct SlotUse {
    Kind kind = Kind::attention;
    std::string slot;    // the kind's name, or with what distinguishes a second use: "attention.cross"
    std::string layers;  // "encoder.0-5", "decoder.3"; "encoder": once for that stack; "model": once
    std::vector<config::LayerId>
        layer_ids;  // of a group of layers, in order; empty where it stands for no layer
    Phase phase = Phase::train;
    std::shared_ptr<const Request> request;  // of the type of `kind`
    config::SlotConfig config;               // after [[layer]] rules
    config::Origin origin;                   // of the `backend` in it
    // The slots that this use stands for where it is of several that are alike ("linear.attention.q", ...);
    // empty: `slot` alone.
    std::vector<std::string> members{};
    bool shadow = false;  // of a candidate that runs beside what was chosen; then `config.backend` names it

    // Where `backend` stands: "attention.backend", "attention.shadow.backend".
    std::string key() const;

    bool stands_for(std::string_view name) const {
        return members.empty() ? slot == name
                               : std::find(members.begin(), members.end(), name) != members.end();
    }
};

// Parts of a wide operation that the core does around a component that serves a narrower one only. In the
// order in which the core does them: normalization: bias, dropout, residual; activation: bias, dropout; loss:
// projection; optimizer: unscale, clip.
using Composed = std::vector<std::string>;

struct Chosen {
    std::string plugin, component, variant;  // variant: the one asked for; empty: the component chooses
    std::string version, library_path, content_hash;
    Options options;  // declared defaults with what the configuration says
    std::shared_ptr<const Request>
        request;  // what the component is created for: the use's, without the composed parts
    Composed composed;
    Accuracy accuracy = Accuracy::exact;
    double accuracy_bound = 0.0;
    loader::Verification verification = loader::Verification::unknown;
};

struct CandidateOutcome {
    std::string plugin, version, component, variant;
    bool ok = false;                     // would it serve the request?
    std::vector<Reason> reasons;         // all of them, if not
    std::optional<std::string> nearest;  // if not: the nearest request that it would serve, in words
    Composed composed;                   // if ok
    std::string
        why_not;  // if ok and not chosen: "not asked for", "lower priority (10, chosen: 50)", ...; empty
                  // for the chosen one
    int priority = 0;
};

struct PlanRow {
    SlotUse use;
    std::optional<Chosen> chosen;
    std::vector<CandidateOutcome> candidates;  // all of the kind: the chosen one first, then by priority
    std::string how;                           // "named", "choice 1 of 2 listed", "auto: by priority"
    std::optional<Measurement> measured;       // for "auto": what was chosen by
    std::string error;               // if nothing was chosen: what to tell the user, without the place
    std::vector<std::string> notes;  // what "auto" in the configuration became, in words
    std::vector<std::string>
        warnings;  // what is served as it was asked for, but is likely not what is wanted
};

// The slots that one of several stands for, by its name: of "linear.attention.q,k" "linear.attention.q" and
// "linear.attention.k"; of any other one itself. Which are alike is a matter of sizes, and so of what part of
// a model a process has.
std::vector<std::string> single_slots(std::string_view slot);

// "flash/flash", "torch/torch@math" where a variant was asked for.
std::string full_name(const Chosen& chosen);
std::string full_name(const CandidateOutcome& outcome);

// What a component was chosen for, with its variant and options, in one line: what a run of conformance of
// this use is remembered under. `kind`: the component's.
std::string use_in_words(Kind kind, const Chosen& chosen);

struct Plan {
    HostInfo host;
    std::vector<PlanRow> rows;
    // Candidates that run beside rows of the phase train: each the row's slot and layers, and its request.
    std::vector<PlanRow> shadows{};

    // Calls f(row) for each row, then for each shadow.
    template <class F>
    void for_each_row(const F& f) const {
        for (const auto& row : rows) f(row);
        for (const auto& row : shadows) f(row);
    }
    bool ok() const;
    // The shadow of one of its rows; nullptr: it has none.
    const PlanRow* shadow_of(const PlanRow& row) const;
    // Full names, once each, of what was chosen although no run of conformance passed for it.
    std::vector<std::string> unverified() const;
    // The row for one layer, or (layer == nullptr) for what stands for no layer; nullptr if the model has no
    // such use.
    const PlanRow* find(std::string_view slot, Phase phase, const config::LayerId* layer = nullptr) const;
};

}  // namespace switchyard::resolver

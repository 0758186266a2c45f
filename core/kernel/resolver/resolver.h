// Request x candidates x host -> plan.
//
// A slot's `backend` is the name of one component, an ordered list of names, or "auto".
//   name   that component serves the request, or the plan has an error with all its reasons: nothing else is
//          tried.
//   list   the first that serves it.
//   auto   the best of those that serve it, as the chooser says (measured.h, or by priority); never one of
//          Accuracy::reduced unless the slot allows it.
// Writing a reduced component's name is allowing it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

// Chooses for "auto" among candidates that all serve the request (never empty): its index, and how, for the
// plan ("auto: by priority").
struct Choice {
    std::size_t index = 0;
    std::string how;
    std::vector<std::string> why_not{};     // by candidate, if not by priority
    std::optional<Measurement> measured{};  // what was chosen by
};
using Chooser = std::function<Choice(const SlotUse& use, const std::vector<const Candidate*>& conformant)>;

// The highest priority; of equals the first by name.
Choice by_priority(const SlotUse& use, const std::vector<const Candidate*>& conformant);

struct ResolveOptions {
    Chooser chooser = by_priority;
    // Also ask the candidates that were not named, and those that are listed behind the one that serves; look
    // for nearest requests.
    bool explain = true;
    // Where a key of the configuration was written ("job.toml:3:8"); empty: nowhere. If set, a failure says
    // which keys what is refused follows from (field_keys.h).
    std::function<std::string(std::string_view key)> written_at{};
};

PlanRow resolve(const SlotUse& use, const std::vector<Candidate>& candidates, const HostInfo& host,
                const ResolveOptions& options = {});

Plan resolve(const std::vector<SlotUse>& uses, const std::vector<Candidate>& candidates, const HostInfo& host,
             const ResolveOptions& options = {});

// One component by the name that a user wrote, "[plugin/]component[@variant]", without a request: what `bench
// --backends a,b` needs.
struct Named {
    const Candidate* candidate = nullptr;
    std::string variant;
    std::string error;  // if candidate is nullptr: unknown (with a suggestion), or fits several (lists them)
};
Named find_named(Kind kind, const std::string& name, const std::vector<Candidate>& candidates);

// Defaults of the component's schema with what the slot's configuration has for it
// ("[attention.options.chunked]").
Options options_for(const Candidate& candidate, const config::SlotConfig& config);

}  // namespace switchyard::resolver

// "[plugin/]component[@variant]" -> candidate.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/resolver/plan.h"

namespace switchyard::resolver {

struct BackendName {
    std::string plugin;  // empty: any
    std::string component;
    std::string variant;  // empty: the component chooses
};

BackendName parse_backend(const std::string& text);

// "naive" where that is the only component of its kind with that id among usable plugins, else
// "plugin/naive".
std::string short_name(const Candidate& candidate, const std::vector<Candidate>& candidates);

// Why that component cannot serve a request for a formula of a component's own: its manifest does not name
// it.
std::optional<Reason> refuse_custom(const ComponentManifest& manifest, const Request& request);

// Says that no candidate brings the formula of its own that is asked for, which ones there are, and where it
// is written; empty: one does, or none is asked for.
std::string unknown_custom(Kind kind, const Request& request, const std::vector<Candidate>& candidates,
                           const std::function<std::string(std::string_view key)>& written_at);

}  // namespace switchyard::resolver

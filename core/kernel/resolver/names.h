// "[plugin/]component[@variant]" -> candidate.
#pragma once

#include <string>
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

}  // namespace switchyard::resolver

// The environment of the probe program: what decides how libraries are found and run, and nothing else. What
// a user keeps in variables - passwords, tokens, sockets of agents - is no business of a plugin that is
// judged.
#pragma once

#include <string>
#include <vector>

namespace switchyard::loader {

// Of these "NAME=value", those that a probe gets. SWITCHYARD_PROBE_ENVIRONMENT among them names more,
// separated by commas, for plugins that do not start without them.
std::vector<std::string> probe_environment(const char* const* environment);

// What this process's environment says about where the dynamic loader looks, as text to compare.
std::string loader_variables();

}  // namespace switchyard::loader

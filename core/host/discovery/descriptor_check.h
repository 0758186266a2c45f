// Is the descriptor that a library exports the one that its manifest announced?
#pragma once

#include <optional>
#include <string>

#include <switchyard/host/discovery/manifest.h>
#include <switchyard/interfaces/plugin_abi.h>

namespace switchyard::host {

struct DescriptorProblem {
    std::string reason;
    std::string expected;  // what the manifest says
    std::string got;       // what the descriptor says
};

// The first difference, or what makes the descriptor unusable; nullopt: it can be used.
std::optional<DescriptorProblem> check_descriptor(const SwitchyardPlugin& descriptor,
                                                  const Manifest& manifest);

}  // namespace switchyard::host

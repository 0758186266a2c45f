// What the host does for plugins of the stable tier (SwitchyardStableServices).
#pragma once

#include <string>

#include <switchyard/interfaces/plugin_abi.h>
#include <switchyard/interfaces/stable_abi.h>

namespace switchyard::runtime::stable {

// What the token of a component of the stable tier points to: who counts its executions.
struct ExecutionToken {
    const SwitchyardServices* services = nullptr;
    void* token = nullptr;
};

// Valid for the life of the process.
const SwitchyardStableServices* stable_services();

// What `fail` was given on this thread since this was called last.
std::string take_call_error();

}  // namespace switchyard::runtime::stable

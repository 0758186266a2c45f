// Which plugins and components `switchyard plugins verify` is asked for.
#pragma once

#include <string>
#include <vector>

#include <switchyard/conformance/verify.h>
#include <switchyard/interfaces/host_info.h>
#include "core/kernel/loader/discovery.h"
#include "core/workbench/cli/plugins/verify_case.h"

namespace switchyard::cli {

// One by name or path, or all that are there; throws Failure where there is none.
std::vector<loader::PluginRecord> find_plugins(const std::string& wanted, const HostInfo& host);

// `wanted`: "", a kind, or "kind/id".
bool is_meant(Kind kind, const std::string& id, const std::string& wanted);
std::vector<const ComponentManifest*> components_meant(const std::vector<loader::PluginRecord>& records,
                                                       const std::string& wanted);

// Throws Failure for a mode that there is not, or one that goes with no other.
std::vector<VerifyMode> modes_of(const VerifyRequest& request);

// Throws Failure for a mode, dtype or device that there is not.
conformance::VerifyOptions conformance_options(const VerifyRequest& request);

}  // namespace switchyard::cli

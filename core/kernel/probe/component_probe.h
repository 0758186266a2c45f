// What the probe does with one component of a plugin that has been loaded.
#pragma once

#include <functional>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/loader/probe/probe_report.h"
#include "core/kernel/runtime/plugin_library.h"

namespace switchyard::loader {

using EnterPhase = std::function<void(ProbePhase phase, const std::string& component)>;

struct ProbedHosts {
    HostInfo here;
    HostInfo cuda;  // `here` if it has such a device, else a described one
};

// Never throws: what the component throws is the result's failure.
ComponentProbe probe_component(const runtime::LoadedComponent& component, const ProbedHosts& hosts,
                               const EnterPhase& enter);

}  // namespace switchyard::loader

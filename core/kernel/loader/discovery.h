// From a search path to one record for each library found, with the outcome of every gate up to the probe.
//
// Runs no code of a plugin in this process, needs no LibTorch, and never throws because of a plugin.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <switchyard/interfaces/host_info.h>
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/loader/search_path.h"

namespace switchyard::loader {

// Gate::trust: says whether a plugin that passed the gates before may be used, before any of its code runs,
// and fills in PluginRecord::trust.
using Judge = std::function<GateOutcome(PluginRecord&)>;

struct DiscoveryOptions {
    SearchPath path = standard_search_path();
    std::vector<std::string> disabled;  // plugins.disabled
    Judge judge;                        // empty: nobody is asked, and no record has that gate
    bool run_probes = true;             // false: neither run nor looked up; records end before Gate::probe
    bool ignore_cache = false;          // probe again, whatever is known
    std::optional<std::string> cache_folder;      // nullopt: the usual place; empty: no cache
    std::string probe_program;                    // empty: the one that belongs to this program
    std::chrono::milliseconds probe_deadline{0};  // 0: SWITCHYARD_PROBE_TIMEOUT_MS, or 20 s
};

// In search order. An entry that the user named and that does not exist is a record, too (refused at
// Gate::path). A record without a probe failure says nothing about later gates: the Registry passes them when
// it loads.
std::vector<PluginRecord> discover(const DiscoveryOptions& options, const HostInfo& host);

}  // namespace switchyard::loader

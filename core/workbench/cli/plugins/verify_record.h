// What a run of `switchyard plugins verify` leaves behind: for each plugin a record in the user's cache, by
// which plugins.require = "conformant" goes, and with --report a file of it to be shipped
// (conformance_record.h).
//
// Only a run of all that a component claims proves it: without --filter, --dtype and --option, and with at
// least as many drawn cases as by default. A fault is remembered whatever was run.
#pragma once

#include <string>
#include <vector>

#include <switchyard/conformance/report.h>
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/workbench/cli/plugins/verify_case.h"

namespace switchyard::cli {

class VerifyRecord {
public:
    // `report`: of --report; empty: none. Throws Failure for one of a run that proves nothing, or of several
    // plugins.
    VerifyRecord(const VerifyRequest& request, std::string report,
                 const std::vector<loader::PluginRecord>& plugins);

    void begin(const loader::PluginRecord& plugin);
    void add(const ComponentManifest& component, const conformance::Report& report);
    // The plugin ran to its end. What is to be told besides; empty: nothing.
    std::string end(const loader::PluginRecord& plugin);

private:
    const VerifyRequest& request_;
    std::string report_;
    trust::ConformanceRecord record_;
    bool added_ = false;
};

}  // namespace switchyard::cli

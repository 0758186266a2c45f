// What a run of `switchyard plugins verify` leaves behind: for each plugin a record in the user's cache, by
// which plugins.require = "conformant" goes, and with --report a file of it to be shipped
// (conformance_record.h).
//
// Only a run of all that a component claims proves it: without --filter, --dtype and --option, and with at
// least as many drawn cases as by default. A fault is remembered whatever was run, also by a run that a
// signal stops. A run of a configuration proves the uses of its plan, and says nothing of others. A file of
// --report keeps what it has of the same content and versions and neither this run nor the cache knows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <switchyard/conformance/report.h>
#include "core/kernel/loader/plugin_record.h"
#include "core/kernel/trust/conformance_record.h"
#include "core/kernel/trust/plugin_content.h"
#include "core/workbench/cli/plugins/verify_case.h"
#include "core/workbench/cli/plugins/verify_job.h"

namespace switchyard::cli {

class VerifyRecord {
public:
    // `report`: of --report; empty: none. Throws Failure for one of a run that proves nothing, or of several
    // plugins.
    VerifyRecord(const VerifyRequest& request, std::string report,
                 const std::vector<loader::PluginRecord>& plugins);

    void begin(const loader::PluginRecord& plugin);
    void add(const ComponentManifest& component, const conformance::Report& report);
    // All of the plugin ran that was to run, or, `stopped`, what came before a signal: that is remembered,
    // but a file of it would not be whole. What is to be told besides; empty: nothing.
    std::string end(const loader::PluginRecord& plugin, bool stopped);

    // Of a configuration: before a part runs, and when all of it ran. The latter returns what `end` does.
    void begin(const PlannedPart& part);
    std::string note(const PlannedPart& part, const conformance::Report& report);

private:
    void begin(const std::string& library, const std::string& name, const std::string& version);
    void add(trust::ComponentOutcome outcome, const conformance::Report& report);
    std::string end(const std::string& library);
    // Returns what is to be told of it.
    std::string write_report(const std::string& library) const;

    const VerifyRequest& request_;
    std::string report_;
    trust::ConformanceRecord found_;  // by this run alone
    // By library, as it was when the run first came to it: several parts of a plan may be of one.
    std::map<std::string, trust::PluginContent> contents_;
};

}  // namespace switchyard::cli

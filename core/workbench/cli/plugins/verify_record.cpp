#include "core/workbench/cli/plugins/verify_record.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/kernel/machine/program_paths.h"
#include "core/kernel/trust/own_plugin.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/output.h"
#include "core/workbench/cli/plugins/verify_plugins.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_fault = 500;

// Why a run without faults does not prove a component; empty: it does.
std::string why_no_proof(const VerifyRequest& request) {
    if (!request.modes.empty()) return "--mode leaves out what is not looked for";
    if (!request.filter.empty()) return "--filter leaves cases out";
    if (!request.dtypes.empty()) return "--dtype leaves dtypes out";
    if (!request.given.empty()) return "--option runs other options than the default ones";
    const auto least = request.job.config.empty() ? VerifyRequest().drawn : cases_of_a_request;
    return request.drawn < least ? "--drawn is below " + std::to_string(least) : "";
}

std::string fault_text(const conformance::Report& report) {
    if (report.faults.empty()) return "";
    const auto& fault = report.faults.front();
    return (fault.code + " in " + fault.where + ": " + fault.detail).substr(0, longest_fault);
}

// Of a file that is to be written anew; what is none is as good as not there.
trust::ConformanceRecord record_in(const std::string& file) {
    // What else a name may stand for, a terminal say, is not read.
    if (std::error_code ignored; !fs::is_regular_file(file, ignored)) return {};
    try {
        return trust::read_record(base::text_if_readable(file, base::limits::json_bytes), file);
    } catch (const base::InputError&) {
        return {};
    }
}

}  // namespace

VerifyRecord::VerifyRecord(const VerifyRequest& request, std::string report,
                           const std::vector<loader::PluginRecord>& plugins)
    : request_(request), report_(std::move(report)) {
    if (report_.empty()) return;
    if (plugins.size() != 1)
        throw Failure("--report: is of one plugin, and there are " + std::to_string(plugins.size()) +
                      "; expected PLUGIN, its name or the path of its library");
    if (const auto why = why_no_proof(request_); !why.empty())
        throw Failure("--report: " + why + "; expected a run of all that the plugin claims");
}

void VerifyRecord::begin(const loader::PluginRecord& plugin) {
    begin(plugin.path, plugin.manifest->name, plugin.manifest->version);
}

void VerifyRecord::begin(const std::string& library, const std::string& name, const std::string& version) {
    auto known = contents_.find(library);
    if (known == contents_.end()) known = contents_.emplace(library, trust::content_of(library)).first;
    found_ = {name, version, known->second, trust::host_version(), {}};
}

void VerifyRecord::add(const ComponentManifest& component, const conformance::Report& report) {
    trust::ComponentOutcome outcome;
    outcome.kind = component.kind;
    outcome.id = component.id;
    add(std::move(outcome), report);
}

void VerifyRecord::begin(const PlannedPart& part) { begin(part.library_path, part.plugin, part.version); }

std::string VerifyRecord::note(const PlannedPart& part, const conformance::Report& report) {
    for (const auto& words : part.words) {
        trust::ComponentOutcome outcome;
        outcome.kind = part.kind;
        outcome.id = part.id;
        outcome.use = words;
        add(std::move(outcome), report);
    }
    return end(part.library_path);
}

void VerifyRecord::add(trust::ComponentOutcome outcome, const conformance::Report& report) {
    const bool passed = report.faults.empty() && report.failed == 0;
    if (passed && (report.cases == 0 || !why_no_proof(request_).empty())) return;
    outcome.device = conformance_options(request_).device;
    outcome.passed = passed;
    outcome.cases = report.cases;
    outcome.drawn = request_.drawn;
    outcome.failed = passed ? 0 : std::max<std::int64_t>(report.failed, 1);
    outcome.seed = request_.seed;
    outcome.fault = fault_text(report);
    add_outcome(found_, outcome);
}

std::string VerifyRecord::end(const loader::PluginRecord& plugin, bool stopped) {
    if (stopped) report_.clear();
    return end(plugin.path);
}

std::string VerifyRecord::end(const std::string& library) {
    const bool remembers = !found_.components.empty() && !found_.content.library.empty();
    if (found_.components.empty() && report_.empty()) return "";
    if (trust::content_of(library) != found_.content)
        return "the library was changed while it was verified: nothing is remembered of it";
    std::optional<std::string> error;
    if (remembers) error = trust::RecordCache(machine::standard_cache_folder()).add(found_);
    std::string told = report_.empty() ? "" : write_report(library);
    if (error) told += (told.empty() ? "" : "\n") + std::string("not remembered: ") + *error;
    return told;
}

std::string VerifyRecord::write_report(const std::string& library) const {
    auto record = trust::RecordCache(machine::standard_cache_folder()).find(found_.content).value_or(found_);
    for (const auto& one : found_.components) add_outcome(record, one);
    const auto kept = add_missing(record, record_in(report_));
    write_file(report_, to_json_text(record));
    return "the record of it is in " + base::printable(report_) +
           (kept == 0 ? "" : ", with " + counted(kept, "outcome") + " that it had before") +
           "; beside the library, as " + base::printable(trust::shipped_record_of(library)) +
           ", `switchyard plugins sign` signs it too";
}

}  // namespace switchyard::cli

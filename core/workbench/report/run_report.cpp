#include "core/workbench/report/run_report.h"

#include "core/workbench/report/html_text.h"
#include "core/workbench/report/report_sections.h"

namespace switchyard::report {

std::string run_report(const RunRecord& run, const StackTimes* stacks) {
    std::string body =
        verdict_section(run) + curves_section(run) + confusion_section(run) + worst_section(run);
    if (stacks != nullptr) body += stacks_section(*stacks);
    body += communication_section(run) + shadow_section(run) + plan_section(run) + memory_section(run) + data_section(run) +
            host_section(run, stacks) + config_section(run);
    body += "<footer>Made by <code>switchyard report</code> from the files of the run.</footer>\n";
    return page(title_of(run), body);
}

}  // namespace switchyard::report

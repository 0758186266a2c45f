// What `compare --json` wrote becomes a page that holds nothing but what its maker wrote, by itself and as
// the stacks of a run's page.
#include "core/workbench/report/comparison_page.h"
#include "core/workbench/report/run_report.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace report = switchyard::report;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(text_of(data, size));
    (void)report::is_comparison(text);
    try {
        const auto comparison = report::read_comparison(text, "compare.json");
        require_harmless_page(report::comparison_page(comparison));
        const auto stacks = report::stack_times(comparison, "compare.json");
        require_harmless_page(report::run_report(report::RunRecord{}, &stacks));
    } catch (const report::InputError& error) {
        require_message(error.what());
    }
    return 0;
}

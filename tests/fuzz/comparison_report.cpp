// What `compare --json` wrote becomes the stacks of a run's page that holds nothing but what its maker wrote.
#include "core/workbench/report/run_report.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace report = switchyard::report;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        const InputFile file(text_of(data, size));
        const auto stacks = report::read_stack_times(file.path());
        require_harmless_page(report::run_report(report::RunRecord{}, &stacks));
    } catch (const report::InputError& error) {
        require_message(error.what());
    }
    return 0;
}

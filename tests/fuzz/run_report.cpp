// The folder of a run - summary.json, metrics.jsonl, plan.json, config.toml and the results of a bench,
// separated by 0x1c, any of them empty - becomes a page that holds nothing but what its maker wrote.
#include "core/workbench/report/run_report.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace report = switchyard::report;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const InputFolder folder;
    const auto parts = parts_of(text_of(data, size), 5);
    folder.set("summary.json", parts[0]);
    folder.set("metrics.jsonl", parts[1]);
    folder.set("plan.json", parts[2]);
    folder.set("config.toml", parts[3]);
    std::optional<report::StackTimes> stacks;
    try {
        const InputFile bench(parts[4]);
        if (!parts[4].empty()) stacks = report::read_stack_times(bench.path());
    } catch (const report::InputError& error) {
        require_message(error.what());
    }
    try {
        const auto run = report::read_run(folder.path());
        require_harmless_page(report::run_report(run, stacks ? &*stacks : nullptr));
    } catch (const report::InputError& error) {
        require_message(error.what());
    }
    return 0;
}

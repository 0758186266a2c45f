// Two folders of runs below one - each record.json, summary.json, metrics.jsonl and config.toml, separated by
// 0x1c, any of them empty - become a list, and that a page that holds nothing but what its maker wrote.
#include <filesystem>

#include "core/workbench/cli/command.h"
#include "core/workbench/cli/runs/find_runs.h"
#include "core/workbench/report/runs_page.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace report = switchyard::report;

void require_scores(const report::RunList& list) {
    for (const auto& run : list.runs) {
        require(!run.state.empty(), "a run has a state");
        for (const auto& metric : list.metrics) report::score_text(run, metric);
        for (const auto& problem : run.problems) require_message(problem);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const InputFolder folder;
    const char* names[] = {"record.json", "summary.json", "metrics.jsonl", "config.toml"};
    const auto parts = parts_of(text_of(data, size), 8);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const std::string run = i < 4 ? "one" : "other";
        std::filesystem::create_directory(folder.path() + "/" + run);
        folder.set(run + "/" + names[i % 4], parts[i]);
    }
    try {
        const auto list = switchyard::cli::find_runs(folder.path());
        require_scores(list);
        for (const auto& by : {std::string(), std::string("accuracy")})
            require_harmless_page(report::runs_page(list, by));
    } catch (const switchyard::cli::Failure& error) {
        require_message(error.what());
    }
    return 0;
}

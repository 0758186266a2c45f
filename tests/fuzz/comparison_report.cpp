// What `compare --json` wrote becomes the stacks of a run's page, and the arm that was measured before of a
// comparison's: pages that hold nothing but what their maker wrote, and a text.
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/kernel/base/input_error.h"
#include "core/workbench/compare/experiment/baseline.h"
#include "core/workbench/compare/experiment/judge_arms.h"
#include "core/workbench/compare/page/comparison_page.h"
#include "core/workbench/report/run_report.h"

#include "fuzz.h"

using namespace switchyard::fuzz;
namespace compare = switchyard::compare;
namespace report = switchyard::report;

namespace {

// An arm of now, six blocks of about 10 ms.
compare::Comparison measured_now() {
    compare::ArmResult arm;
    arm.spec.name = "now";
    for (int round = 0; round < 6; ++round) {
        compare::ArmBlock block;
        block.sample = {0, 10.0 + 0.1 * round, -1, false};
        block.round = round / 2;
        block.steps = 1;
        block.samples = 8;
        block.tokens = 64;
        arm.blocks.emplace_back(block);
    }
    compare::Comparison comparison;
    comparison.steps_per_block = 1;
    comparison.rounds = 3;
    comparison.arms.push_back(std::move(arm));
    return comparison;
}

void draw_as_baseline(const std::string& text) {
    const auto recorded = compare::comparison_of(text, "baseline.json");
    auto comparison = measured_now();
    if (compare::base_index(recorded.comparison) == recorded.comparison.arms.size()) return;
    compare::add_baseline(comparison, recorded, "baseline.json", 0.02);
    require_harmless_page(compare::comparison_page(comparison, {}));
    require(!compare::to_text(comparison).empty(), "a comparison has no text");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto text = text_of(data, size);
    try {
        const InputFile file(text);
        const auto stacks = report::read_stack_times(file.path());
        require_harmless_page(report::run_report(report::RunRecord{}, &stacks));
    } catch (const report::InputError& error) {
        require_message(error.what());
    }
    try {
        draw_as_baseline(std::string(text));
    } catch (const switchyard::base::InputError& error) {
        require_message(error.what());
    }
    return 0;
}

#include "core/workbench/compare/page/comparison_page.h"

#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/compare/page/page_sections.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/page_script.h"

namespace switchyard::compare {
namespace {

std::string how(const Comparison& comparison, const ComparisonFacts& facts) {
    const std::string units(units_of(comparison.operation));
    const std::string tokens =
        comparison.new_tokens > 0 ? std::to_string(comparison.new_tokens) : std::string();
    std::vector<report::Fact> list{
        {"Configuration", facts.config},
        {"Its fingerprint", facts.config_fingerprint},
        {"Blocks", std::to_string(comparison.blocks)},
        {"In rounds, each of new processes", std::to_string(comparison.rounds)},
        {"Blocks repeated, for other programs had a processor", std::to_string(comparison.repeated_blocks)},
        {"Operation", std::string(name(comparison.operation))},
        {"New tokens after each prompt", tokens},
        {"Timed " + units + " in a block", std::to_string(comparison.steps_per_block)},
        {"Of these " + units + " before, not timed", std::to_string(comparison.lead_in)},
        {"Of these " + units + " to warm up", std::to_string(comparison.warm_up_steps)},
        {"Seed of the order", std::to_string(comparison.seed)}};
    list.insert(list.end(), facts.host.begin(), facts.host.end());
    return facts_table(list, facts.command);
}

}  // namespace

std::string comparison_page(const Comparison& comparison, const ComparisonFacts& facts) {
    std::string body = head_section(comparison, facts) + facts.first_section + speed_section(comparison) +
                       generation_section(comparison) + effects_section(comparison);
    if (comparison.operation == Operation::step)
        body += loss_section(comparison) + evaluation_section(comparison) + stability_section(comparison);
    body += memory_section(comparison) + roofline_section(comparison) + blocks_section(comparison) +
            drift_section(comparison) + executed_section(comparison) + section("How", how(comparison, facts));
    if (comparison.arms.size() > shown_arms)
        body += note("Plots show the fastest " + std::to_string(shown_arms) + " of " +
                     std::to_string(comparison.arms.size()) + " arms, the base always among them.");
    return report::page(headline(comparison), body, report::sort_script);
}

}  // namespace switchyard::compare

#include "core/workbench/compare/page/page_sections.h"

#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/arm_ranks.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/page/page_arms.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {
namespace {

using report::escape;
using report::page_number;
using report::shortened;

// What the arms differ in, below the headline.
std::string what_differs(const Comparison& comparison) {
    std::string text;
    for (const auto& key : differing_keys(comparison))
        base::add_item(text, "<code>" + escape(shortened(key, 100)) + "</code>");
    for (const auto& arm : comparison.arms) {
        if (arm.spec.external())
            base::add_item(text, escape(shortened(arm.spec.name, 100)) + " is a program");
    }
    if (text.empty()) return "";
    return "<p>" + base::counted(comparison.arms.size(), "arm") + ", which differ in " + text + ".</p>\n";
}

}  // namespace

std::string headline(const Comparison& comparison) {
    const PairResult* best = nullptr;
    std::size_t judged = 0, slower = 0;
    for (const auto& pair : comparison.pairs) {
        if (!comparison.arms[pair.arm].ok()) continue;
        ++judged;
        slower += pair.verdict == bench::SpeedVerdict::slower ? 1 : 0;
        if (pair.verdict == bench::SpeedVerdict::faster &&
            (best == nullptr || pair.speedup.median > best->speedup.median))
            best = &pair;
    }
    const auto base = shortened(base_of(comparison), 100);
    if (best != nullptr)
        return shortened(comparison.arms[best->arm].spec.name, 100) + " is " +
               page_number(best->speedup.median) + " times as fast as " + base;
    if (judged == 0) return "Comparison" + (base.empty() ? "" : " with " + base);
    return slower == judged ? base + " is the fastest" : "No arm is known to be faster than " + base;
}

std::string head_section(const Comparison& comparison, const ComparisonFacts& facts) {
    std::string html = "<h1>" + escape(headline(comparison)) + "</h1>\n";
    if (!facts.title.empty()) html += "<p class=\"lead\">" + escape(facts.title) + "</p>\n";
    html += what_differs(comparison);
    if (comparison.stopped) html += notice("Stopped before its end: the numbers are of what was done.");
    std::vector<const ArmOutcome*> arms;
    for (const auto& arm : comparison.arms) arms.push_back(&arm);
    html += arm_notices(arms);
    std::string list;
    for (const auto arm : by_speed(comparison)) {
        const auto* const found = comparison.pair_with(arm);
        if (found == nullptr) continue;
        const auto& pair = *found;
        const char* const css = pair.verdict == bench::SpeedVerdict::faster  ? "good"
                                : pair.verdict == bench::SpeedVerdict::wrong ? "bad"
                                                                             : "";
        list += "<li class=\"" + std::string(css) + "\">" +
                escape(shortened(sentence(comparison, pair), 400)) + "</li>\n";
        if (const auto efficiency = efficiency_text(comparison, pair); !efficiency.empty())
            list += "<li>" + escape(shortened(efficiency, 400)) + "</li>\n";
    }
    return html + (list.empty() ? "" : "<ul>\n" + list + "</ul>\n");
}

}  // namespace switchyard::compare

#include "core/workbench/compare/gate/gate_report.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/junit.h"

namespace switchyard::compare {
namespace {

std::string outcome_text(GateOutcome outcome) { return report::in_words(name(outcome)); }

// Foreign text in a cell of a table or in a list: no new line, no markup, no mention of a person.
std::string plain(const std::string& text) {
    std::string result;
    for (const char c : base::printable(text)) {
        if (c == '\n' || c == '\r')
            result += ' ';
        else if (c == '<')
            result += "&lt;";
        else if (c == '@')
            result += "&#64;";
        else if (std::string_view("|`*_[]\\").find(c) != std::string_view::npos)
            result += std::string("\\") + c;
        else
            result += c;
    }
    return result;
}

// As GitHub's runner unescapes it; `property`: before the second "::".
std::string command_value(const std::string& text, bool property) {
    std::string result;
    for (const char c : text) {
        if (c == '%')
            result += "%25";
        else if (c == '\r')
            result += "%0D";
        else if (c == '\n')
            result += "%0A";
        else if (property && c == ':')
            result += "%3A";
        else if (property && c == ',')
            result += "%2C";
        else
            result += c;
    }
    return result;
}

// That a column of its own has, where some arm has one.
bool is_scored(const Comparison& comparison) {
    return comparison.eval_metric != EvalMetric::loss &&
           std::ranges::any_of(comparison.arms, [&](const ArmResult& arm) {
               return median_of(arm.evaluations, comparison.eval_metric).has_value();
           });
}

std::string score_cell(const Comparison& comparison, const ArmResult& arm) {
    if (!is_scored(comparison)) return "";
    const auto score = median_of(arm.evaluations, comparison.eval_metric);
    return (score ? base::digits(*score, 4) : "-") + " | ";
}

std::string row_of(const Comparison& comparison, std::size_t at) {
    const auto& arm = comparison.arms[at];
    const auto* const pair = comparison.pair_with(at);
    std::string speed = pair == nullptr ? (arm.ok() ? "base" : "-") : base::interval_text(pair->speedup);
    const std::string verdict = pair != nullptr ? report::in_words(name(pair->verdict))
                                : arm.ok()      ? ""
                                                : report::in_words(name(arm.status));
    return "| " + plain(arm.spec.name) + " | " + plain(speed) + " | " +
           (pair == nullptr ? "" : base::digits(pair->p_corrected, 2)) + " | " +
           (arm.ok() ? base::digits(arm.samples_per_second) : "-") + " | " + start_up_text(arm) + " | " +
           (arm.peak_memory_bytes < 0 ? "-" : base::bytes_text(static_cast<double>(arm.peak_memory_bytes))) +
           " | " + score_cell(comparison, arm) + verdict + " |\n";
}

}  // namespace

nlohmann::ordered_json to_json(const GateResult& result) {
    auto list = nlohmann::ordered_json::array();
    for (const auto& finding : result.findings)
        list.push_back({{"arm", finding.arm},
                        {"rule", finding.rule},
                        {"outcome", name(finding.outcome)},
                        {"text", finding.text}});
    return list;
}

std::string gate_text(const GateResult& result) {
    std::string text = "\ngate\n";
    for (const auto& finding : result.findings)
        text += "  " +
                bench::wrap(outcome_text(finding.outcome) + ": " + finding.arm + ", " + finding.rule + ": " +
                                finding.text,
                            94, "      ") +
                "\n";
    return text;
}

std::string junit_xml(const GateResult& result, double seconds) {
    using Outcome = report::JUnitCase::Outcome;
    std::vector<report::JUnitCase> cases;
    for (const auto& finding : result.findings) {
        const auto outcome = finding.outcome == GateOutcome::fine     ? Outcome::passed
                             : finding.outcome == GateOutcome::failed ? Outcome::error
                                                                      : Outcome::failed;
        cases.push_back(
            {finding.arm, finding.rule, outcome, std::string(name(finding.outcome)), finding.text});
    }
    return report::junit_xml("switchyard compare", cases, seconds);
}

std::string markdown(const Comparison& comparison, const GateResult& result, const std::string& title,
                     const std::string& command) {
    const int code = result.exit_code();
    const std::string found = code == 0   ? "fine"
                              : code == 1 ? "an arm failed"
                              : code == 3 ? "a regression"
                              : code == 4 ? "cannot tell"
                                          : "wrong numbers";
    const std::string score_head = !is_scored(comparison)                           ? ""
                                   : comparison.eval_metric == EvalMetric::accuracy ? "Accuracy | "
                                                                                    : "Perplexity | ";
    std::string text = "### switchyard compare: " + (result.findings.empty() ? "no gate" : found) + "\n\n" +
                       plain(title) + "\n\n| Arm | Times as fast [95 %] | p | " +
                       (comparison.operation == Operation::generate ? "Prompts/s" : "Samples/s") +
                       " | Start-up | Peak memory | " + score_head + "Verdict |\n" +
                       "|---|---|---|---|---|---|---|" + (score_head.empty() ? "" : "---|") + "\n";
    for (std::size_t at = 0; at < comparison.arms.size(); ++at) text += row_of(comparison, at);
    std::string list;
    for (const auto& finding : result.findings) {
        if (finding.outcome != GateOutcome::fine)
            list += "- **" + outcome_text(finding.outcome) + "** " + plain(finding.arm) + ", " +
                    plain(finding.rule) + ": " + plain(finding.text) + "\n";
    }
    text += (list.empty() ? "" : "\n" + list) + "\n" + std::to_string(comparison.blocks) + " blocks in " +
            std::to_string(comparison.rounds) +
            (comparison.rounds == 1 ? " round" : " rounds of new processes") + ", " +
            base::fixed(comparison.elapsed_ms / 1e3, 1) + " s";
    return text + (command.empty() ? "" : "\n\n    " + base::printable(command)) + "\n";
}

std::string github_annotations(const GateResult& result) {
    std::string text;
    for (const auto& finding : result.findings) {
        if (finding.outcome == GateOutcome::fine) continue;
        const std::string kind = finding.outcome == GateOutcome::cannot_tell ? "warning" : "error";
        text +=
            "::" + kind + " title=" +
            command_value(outcome_text(finding.outcome) + ": " + finding.arm + ", " + finding.rule, true) +
            "::" + command_value(finding.text, false) + "\n";
    }
    return text;
}

}  // namespace switchyard::compare

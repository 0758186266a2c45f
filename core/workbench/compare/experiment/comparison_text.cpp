// How a comparison reads on a terminal.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <sstream>
#include <utility>

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/measure/other_work.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/arm_ranks.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/effects.h"
#include "core/workbench/compare/experiment/time_to_tell.h"
#include "core/workbench/profile/drawn_memory.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {
namespace {

using Align = bench::TextTable::Align;

constexpr std::size_t width = 100;

std::string drift_text(double value) { return std::isnan(value) ? "-" : base::scientific(value); }

std::string paragraph(const std::string& text) {
    return "  " + bench::wrap(text, width - 6, "      ") + "\n";
}

// Each line of it for itself.
std::string indented(const std::string& text) {
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        result += "    " + bench::wrap(line, width - 8, "      ") + "\n";
    return result;
}

std::string status_text(ArmStatus status) {
    switch (status) {
        case ArmStatus::ok:
            return "ok";
        case ArmStatus::timed_out:
            return "timed out";
        case ArmStatus::nan:
            return "not a number";
        default:
            return std::string(name(status));
    }
}

std::string speeds(const Comparison& comparison) {
    const bool writes = comparison.operation == Operation::generate;
    bench::TextTable table({{"arm", Align::left},
                            {"dtype", Align::left},
                            {"ms a " + std::string(unit_of(comparison.operation)) + " [95 %]", Align::left},
                            {writes ? "prompts/s" : "samples/s"},
                            {writes ? "new tokens/s" : "tokens/s"},
                            {"memory"}});
    std::vector<Alike> failures;
    for (const auto& arm : comparison.arms) {
        if (!arm.ok()) {
            table.row({arm.spec.name, arm.dtype, status_text(arm.status)});
            add_alike(failures, arm.spec.name, ": " + status_text(arm.status) + "\n" + indented(arm.reason));
            continue;
        }
        table.row(
            {arm.spec.name, arm.dtype, base::interval_text(arm.step_ms), base::digits(arm.samples_per_second),
             base::digits(arm.tokens_per_second),
             arm.peak_memory_bytes < 0 ? "-" : base::bytes_text(static_cast<double>(arm.peak_memory_bytes))});
        if (arm.by_coordinator) table.note(timed_from_outside);
        if (!arm.measured_before.empty())
            table.note("NOT INTERLEAVED: measured before, read from " + arm.measured_before);
        for (const auto& key : arm.spec.differs) table.note("NOT A FAIR COMPARISON: " + key);
    }
    auto text = table.render("  ", width);
    for (const auto& [failure, arms] : failures)
        text += "  " + bench::wrap(base::joined(arms), width - 6, "      ") + failure;
    return text;
}

std::string percent_text(double share) {
    if (std::isnan(share)) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%+.2g %%", 100.0 * share);
    return text;
}

// Of a pass; and how much of what an arm wrote is the base's.
std::string prefill_and_decode(const Comparison& comparison) {
    const auto text = [](const std::optional<base::Interval>& ms) {
        return ms ? base::interval_text(*ms) : "-";
    };
    bench::TextTable table({{"of a pass", Align::left},
                            {"prefill, ms [95 %]", Align::left},
                            {"decode, ms [95 %]", Align::left},
                            {"same tokens"}});
    for (const auto& arm : comparison.arms) {
        if (!arm.ok()) continue;
        table.row({arm.spec.name, text(arm.prefill_ms), text(arm.decode_ms),
                   std::isnan(arm.same_tokens) ? "-" : base::digits(100.0 * arm.same_tokens) + " %"});
    }
    return "\n" + table.render("  ", width);
}

std::string stability(const Comparison& comparison) {
    bench::TextTable table({{"stability", Align::left}, {"loss drift"}, {"skipped steps"}, {"stable"}});
    for (const auto& arm : comparison.arms) {
        const auto& found = arm.stability;
        const std::string late =
            found.late_skips > 0 ? " (" + std::to_string(found.late_skips) + " late)" : "";
        table.row({arm.spec.name, percent_text(found.loss_drift), std::to_string(arm.skipped_steps) + late,
                   !found.stable   ? "-"
                   : *found.stable ? "yes"
                                   : "NO"});
        if (!found.reason.empty()) table.note(found.reason);
    }
    return "\n" + table.render("  ", width);
}

std::string drifts(const Comparison& comparison) {
    bench::TextTable table({{trains(comparison.operation)                  ? "first step, from the base"
                             : comparison.operation == Operation::generate ? "first tokens, from the base"
                                                                           : "first samples, from the base",
                             Align::left},
                            {"loss"},
                            {"outputs"},
                            {"gradients"}});
    bool any = false;
    for (const auto& pair : comparison.pairs) {
        const auto& arm = comparison.arms[pair.arm];
        any = any || !std::isnan(arm.drift.loss) || !std::isnan(arm.drift.output);
        table.row({arm.spec.name, drift_text(arm.drift.loss), drift_text(arm.drift.output),
                   drift_text(arm.drift.gradient)});
    }
    return any ? "\n" + table.render("  ", width) : "";
}

// What the memory of an observed step is for when it is most; what is below a hundredth is not told.
std::string observed_memory(const profile::ObservedStep& observed) {
    const auto& peak = observed.memory.peak;
    std::vector<std::pair<double, std::string>> parts;
    for (const auto& drawn : profile::drawn_memory()) {
        const double bytes = drawn.bytes_of(peak.parts);
        if (bytes >= 0.01 * static_cast<double>(peak.total()))
            parts.emplace_back(bytes, drawn.name + " " + base::bytes_text(bytes));
    }
    std::ranges::stable_sort(parts, std::greater{}, &std::pair<double, std::string>::first);
    std::string text;
    for (const auto& [bytes, part] : parts) base::add_item(text, part, ", ");
    return text;
}

std::string memory_of_steps(const Comparison& comparison) {
    std::string text;
    for (const auto& arm : comparison.arms) {
        if (arm.observed) text += paragraph(arm.spec.name + ": " + observed_memory(*arm.observed));
    }
    return text.empty() ? "" : "\nmemory of a step at its peak\n" + text;
}

std::string what_ran(const Comparison& comparison) {
    std::string text;
    for (const auto& arm : comparison.arms) {
        const auto ran = base::executed_text(arm.executed, called(comparison));
        if (!ran.empty()) text += paragraph(arm.spec.name + ": " + ran);
    }
    return text.empty() ? "" : "\nwhat ran\n" + text;
}

std::string loss_text(const Comparison& comparison, const PairResult& pair) {
    const auto& loss = *pair.loss;
    const auto& arm = comparison.arms[pair.arm].spec.name;
    std::string text = arm + ": final loss " + report::in_words(name(loss.verdict));
    if (!std::isnan(loss.difference)) {
        char numbers[160];
        const auto& margin = *comparison.margin;
        std::snprintf(numbers, sizeof numbers, ": %+.4g [%+.4g, %+.4g]%s, margin %s, p %.2g",
                      margin.shown(loss.difference), margin.shown(loss.low), margin.shown(loss.high),
                      margin.unit(), bench::to_string(margin).c_str(), loss.p);
        text += numbers;
    }
    return text + (loss.reason.empty() ? "" : " (" + loss.reason + ")");
}

std::string losses(const Comparison& comparison) {
    if (!comparison.margin) return "";
    std::string text;
    for (const auto& pair : comparison.pairs) {
        if (pair.loss) text += paragraph(loss_text(comparison, pair));
    }
    return text.empty()
               ? ""
               : "\nfinal losses after " + std::to_string(comparison.loss_steps) + " steps, " +
                     std::to_string(comparison.seeds) + " seeds: difference from the base [90 %]\n" + text;
}

std::string verdicts(const Comparison& comparison) {
    std::string text;
    for (const auto& pair : comparison.pairs) {
        text += paragraph(sentence(comparison, pair));
        if (const auto efficiency = efficiency_text(comparison, pair); !efficiency.empty())
            text += paragraph(efficiency);
    }
    return text.empty() ? "" : "\n" + text;
}

// Both where they are not the same: of this pair alone, and among all.
std::string p_text(const Comparison& comparison, const PairResult& pair) {
    char text[96];
    if (comparison.pairs.size() < 2)
        std::snprintf(text, sizeof text, " (p %.2g)", pair.p);
    else
        std::snprintf(text, sizeof text, " (p %.2g, %.2g among %zu)", pair.p, pair.p_corrected,
                      comparison.pairs.size());
    return text;
}

// Of the blocks that count.
struct ClockRange {
    double slowest = 0.0, fastest = 0.0, hottest = -1.0;

    void add(const bench::MachineClock& clock) {
        hottest = std::max(hottest, clock.celsius);
        if (clock.mhz <= 0.0) return;
        slowest = fastest > 0.0 ? std::min(slowest, clock.mhz) : clock.mhz;
        fastest = std::max(fastest, clock.mhz);
    }
    // Told where it was not the same all the time.
    std::string text() const {
        if (slowest >= 0.95 * fastest) return "";
        return "; the processors' clock ran at " + base::digits(slowest / 1e3, 2) + " to " +
               base::digits(fastest / 1e3, 2) + " GHz" +
               (hottest < 0.0 ? "" : " at up to " + base::digits(hottest, 2) + " degrees Celsius");
    }
};

// How it was measured, in a few lines.
std::string measured(const Comparison& comparison) {
    const bool one_step = comparison.steps_per_block == 1;
    std::string text = std::to_string(comparison.blocks) + " blocks of " +
                       std::to_string(comparison.steps_per_block) + " " +
                       std::string(one_step ? unit_of(comparison.operation) : units_of(comparison.operation));
    if (comparison.rounds > 1)
        text += " in " + std::to_string(comparison.rounds) + " rounds, each of new processes";
    text += " after " + std::to_string(comparison.warm_up_steps) + " to warm up";
    int outliers = 0, samples = 0;
    double most = 0.0;
    ClockRange clock;
    for (const auto& arm : comparison.arms) {
        outliers += arm.outliers;
        if (!arm.measured_before.empty()) continue;
        if (arm.ok()) most = std::max(most, static_cast<double>(arm.steady_from));
        for (const auto& block : arm.blocks) {
            if (!block || block->repeated) continue;
            ++samples;
            clock.add(block->clock);
        }
    }
    if (most > 0.0)
        text += most < static_cast<double>(comparison.warm_up_steps)
                    ? " (steady from " + std::to_string(static_cast<std::int64_t>(most)) + ")"
                    : " (NOT YET STEADY)";
    if (outliers > 0)
        text += "; " + std::to_string(outliers) + " of " + std::to_string(samples) +
                " samples left out as outliers";
    base::add_clause(text, disturbed_text(comparison.repeated_blocks, comparison.most_of_others()));
    text += clock.text();
    if (comparison.stopped) text += "; STOPPED before its end";
    text = paragraph(text);
    if (comparison.rounds == 1 && !comparison.pairs.empty())
        text += paragraph(
            "each arm was started once: a difference that comes with a start, of 1 % or so, counts "
            "as the arm's (--rounds 5)");
    return text;
}

}  // namespace

std::string start_up_text(const ArmResult& arm) {
    return std::isfinite(arm.start_up_ms) ? base::digits(arm.start_up_ms / 1e3) + " s" : "-";
}

std::string sentence(const Comparison& comparison, const PairResult& pair) {
    const auto& base = comparison.arms[pair.base].spec.name;
    const auto& arm = comparison.arms[pair.arm].spec.name;
    const std::string ratio = std::isfinite(pair.speedup.low)
                                  ? base::interval_text(pair.speedup) + " times as fast"
                                  : base::digits(pair.speedup.median) + " times as fast" +
                                        (pair.blocks == 1 ? ", one block only" : "");
    const std::string p = p_text(comparison, pair);
    const std::string note = pair.note.empty() ? "" : "; " + pair.note;
    switch (pair.verdict) {
        case bench::SpeedVerdict::faster:
            return arm + " is FASTER than " + base + ": " + ratio + p + note;
        case bench::SpeedVerdict::slower:
            return arm + " is SLOWER than " + base + ": " + ratio + p + note;
        case bench::SpeedVerdict::same:
            return arm + " is the SAME as " + base + " within 2 %: " + ratio + note;
        case bench::SpeedVerdict::wrong:
            return arm + " is WRONG, so its speed means nothing: " + pair.reason + " (" + ratio + ")";
        default: {
            auto reason = pair.reason.empty() ? time_to_tell(comparison, pair) : pair.reason;
            if (reason.empty()) reason = "use more blocks or a quieter machine";
            return arm + ": CANNOT TELL whether it is faster than " + base + ": " + ratio + p + "; " +
                   reason + note;
        }
    }
}

std::string disturbed_text(int repeated_blocks, double most) {
    std::string text;
    if (repeated_blocks > 0)
        text = base::counted(static_cast<std::size_t>(repeated_blocks), "block") +
               " repeated, for others had the processor";
    if (most > bench::undisturbed_share)
        base::add_item(text,
                       "others took up to " + base::digits(100.0 * most, 2) +
                           " % of the processors in blocks that count",
                       "; ");
    return text;
}

base::Called called(const Comparison& comparison) {
    if (comparison.operation == Operation::generate) return base::Called::by_phase;
    return trains(comparison.operation) ? base::Called::in_training : base::Called::at_all;
}

std::string to_text(const Comparison& comparison) {
    std::string text = speeds(comparison) + measured(comparison);
    if (comparison.operation == Operation::generate) text += prefill_and_decode(comparison);
    text += memory_of_steps(comparison) +
            (comparison.operation == Operation::step ? stability(comparison) : "") + drifts(comparison) +
            what_ran(comparison) + losses(comparison) + evaluation_text(comparison) +
            effects_text(effects_of(comparison)) + verdicts(comparison);
    return text;
}

}  // namespace switchyard::compare

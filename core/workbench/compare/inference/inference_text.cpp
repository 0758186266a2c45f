// How a bench of inference reads on a terminal.
#include <cmath>
#include <sstream>

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/inference/cache_table.h"
#include "core/workbench/compare/inference/inference_report.h"
#include "core/workbench/report/html_text.h"

namespace switchyard::compare {
namespace {

using Align = bench::TextTable::Align;

constexpr std::size_t columns = 110;

std::string bytes_or_dash(std::int64_t bytes) {
    return bytes < 0 ? "-" : base::bytes_text(static_cast<double>(bytes));
}

std::string percent_or_dash(double share) {
    return std::isfinite(share) ? base::digits(100.0 * share, 2) + " %" : "-";
}

std::string tail(const Latency& latency) {
    return latency.known() ? base::digits(latency.p95) + ", " + base::digits(latency.p99) : "-";
}

std::string times_the_base(const InferenceResult& result, std::size_t workload, std::size_t arm) {
    const auto* const pair = pair_of(result, workload, arm);
    if (pair == nullptr) return arm == result.base() ? "1" : "-";
    return base::interval_text(pair->speedup) + " " + report::in_words(name(pair->verdict));
}

bool timed(const InferenceArmResult& arm, std::size_t workload) {
    return arm.ok() && arm.results[workload].pass.known();
}

std::string forwards(const InferenceResult& result, std::size_t workload) {
    bench::TextTable table({{result.workloads[workload].text(), Align::left},
                            {"dtype", Align::left},
                            {"ms [95 %]", Align::left},
                            {"p95, p99"},
                            {"sequences/s"},
                            {"tokens/s"},
                            {"weights"},
                            {"peak"},
                            {"times the first", Align::left}});
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        const auto& arm = result.arms[at];
        if (!timed(arm, workload)) continue;
        const auto& found = arm.results[workload];
        table.row({arm.spec.name, arm.dtype, base::interval_text(found.pass.ms), tail(found.pass),
                   base::digits(found.samples_per_second), base::digits(found.tokens_per_second),
                   bytes_or_dash(arm.weight_bytes), bytes_or_dash(found.peak_memory_bytes),
                   times_the_base(result, workload, at)});
        if (found.by_coordinator) table.note(timed_from_outside);
    }
    return table.render("  ", columns);
}

std::string generations(const InferenceResult& result, std::size_t workload) {
    bench::TextTable table({{result.workloads[workload].text(), Align::left},
                            {"dtype", Align::left},
                            {"first ms"},
                            {"token ms [95 %]", Align::left},
                            {"p95, p99"},
                            {"tokens/s"},
                            {"read"},
                            {"weights"},
                            {"cache"},
                            {"times the first", Align::left}});
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        const auto& arm = result.arms[at];
        if (!timed(arm, workload)) continue;
        const auto& found = arm.results[workload];
        table.row({arm.spec.name, arm.dtype, base::digits(found.first_token.ms.median),
                   found.next_token.known() ? base::interval_text(found.next_token.ms) : "-",
                   tail(found.next_token),
                   base::digits(found.next_token.known() ? found.decode_tokens_per_second
                                                         : found.tokens_per_second),
                   percent_or_dash(found.read_share), bytes_or_dash(arm.weight_bytes),
                   bytes_or_dash(found.cache_bytes), times_the_base(result, workload, at)});
        if (found.by_coordinator) table.note(timed_from_outside);
    }
    return table.render("  ", columns);
}

std::string caches(const InferenceResult& result) {
    const auto rows = cache_rows(result);
    if (rows.empty()) return "";
    bench::TextTable table({{"with a cache and without", Align::left},
                            {"with, ms"},
                            {"without, ms"},
                            {"times as fast", Align::left},
                            {"tokens of work", Align::left},
                            {"their ratio"},
                            {"cache"}});
    for (const auto& row : rows) {
        const auto& workload = result.workloads[row.workload];
        const auto& with = result.arms[row.cached].results[row.workload];
        const auto& without = result.arms[row.whole].results[row.workload];
        table.row({workload.text(), base::digits(with.pass.ms.median), base::digits(without.pass.ms.median),
                   base::interval_text(row.speedup),
                   std::to_string(tokens_with_cache(workload.lengths.max, workload.tokens)) + ", " +
                       std::to_string(tokens_without_cache(workload.lengths.max, workload.tokens)),
                   base::digits(row.tokens_ratio), bytes_or_dash(with.cache_bytes)});
    }
    return "\n" + table.render("  ", columns);
}

std::string outputs(const InferenceResult& result) {
    const bool writes = result.operation == Operation::generate;
    bench::TextTable table({{"outputs, from the first arm's", Align::left},
                            {"distance"},
                            {"rounding explains"},
                            {writes ? "same tokens" : ""}});
    bool any = false;
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        const auto& arm = result.arms[at];
        if (!arm.ok() || at == result.base()) continue;
        any = true;
        table.row({arm.spec.name, std::isnan(arm.drift) ? "-" : base::scientific(arm.drift),
                   std::isnan(arm.allowed) ? "-" : base::scientific(arm.allowed),
                   writes ? percent_or_dash(arm.results.front().same_tokens) : ""});
    }
    return any ? "\n" + table.render("  ", columns) : "";
}

std::string wrapped(const std::string& text) {
    return "  " + bench::wrap(text, columns - 6, "      ") + "\n";
}

std::string told_of_arms(const InferenceResult& result) {
    const auto called =
        result.operation == Operation::generate ? base::Called::by_phase : base::Called::at_all;
    std::string failures, ran;
    for (const auto& arm : result.arms) {
        if (!arm.ok()) {
            failures += "  " + arm.spec.name + ": " + std::string(name(arm.status)) + "\n";
            std::istringstream lines(arm.reason);
            for (std::string line; std::getline(lines, line);)
                failures += "    " + bench::wrap(line, columns - 8, "      ") + "\n";
            continue;
        }
        for (const auto& key : arm.spec.differs)
            failures += wrapped("NOT A FAIR COMPARISON: " + arm.spec.name + " differs in " + key);
        const auto of_first = base::executed_text(arm.results.front().executed, called);
        const auto& said = of_first.empty() ? arm.description : of_first;
        if (!said.empty()) ran += wrapped(arm.spec.name + ": " + said);
    }
    return failures + (ran.empty() ? "" : "\nwhat ran\n" + ran);
}

// Reasons of what cannot be told or is wrong, and what has to be told beside a verdict; how it was measured.
std::string told_of_pairs(const InferenceResult& result) {
    std::string text;
    for (const auto& pair : result.pairs) {
        if (!pair.reason.empty() || !pair.note.empty()) text += wrapped(sentence(result, pair));
    }
    if (const auto how = measured_text(result); !how.empty()) text += wrapped(how);
    return text.empty() ? "" : "\n" + text;
}

std::string started_text(const InferenceResult& result) {
    if (result.rounds > 1) return "each arm was started " + std::to_string(result.rounds) + " times";
    return "each arm was started once: a difference that comes with a start, of 1 % or so, counts as the "
           "arm's (--rounds 5)";
}

std::string machine(const InferenceResult& result) {
    if (!(result.peaks.read_gbytes_per_second > 0.0)) return "";
    return wrapped(
        "The machine reads " + base::digits(result.peaks.read_gbytes_per_second) +
        " GB/s at its best, measured in this run; \"read\" is the share of it with which weights and "
        "cache are read while tokens after the first come.");
}

}  // namespace

const InferencePair* pair_of(const InferenceResult& result, std::size_t workload, std::size_t arm) {
    for (const auto& pair : result.pairs) {
        if (pair.workload == workload && pair.arm == arm) return &pair;
    }
    return nullptr;
}

std::string sentence(const InferenceResult& result, const InferencePair& pair) {
    return result.workloads[pair.workload].text() + ": " + result.arms[pair.arm].spec.name + " is " +
           report::in_words(name(pair.verdict)) + ", " + base::interval_text(pair.speedup) +
           " times as fast as " + result.arms[pair.base].spec.name +
           (pair.reason.empty() ? "" : " (" + pair.reason + ")") +
           (pair.note.empty() ? "" : "; " + pair.note);
}

std::string measured_text(const InferenceResult& result) {
    std::string text;
    if (!result.pairs.empty()) text = started_text(result);
    if (result.pairs.size() > 1)
        text += "; verdicts are corrected for " + std::to_string(result.pairs.size()) + " comparisons (Holm)";
    base::add_clause(text, disturbed_text(result.repeated_blocks, result.most_of_others()));
    return text;
}

std::string to_text(const InferenceResult& result) {
    std::string text;
    for (std::size_t workload = 0; workload < result.workloads.size(); ++workload) {
        if (result.blocks[workload] == 0) continue;
        text += (text.empty() ? "" : "\n") + (result.operation == Operation::generate
                                                  ? generations(result, workload)
                                                  : forwards(result, workload));
    }
    text += caches(result) + outputs(result) + told_of_arms(result) + told_of_pairs(result);
    if (result.operation == Operation::generate) text += "\n" + machine(result);
    return text;
}

}  // namespace switchyard::compare

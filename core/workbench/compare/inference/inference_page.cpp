#include "core/workbench/compare/inference/inference_page.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/kernel/base/executed_text.h"
#include "core/kernel/base/joined.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/inference/cache_table.h"
#include "core/workbench/compare/inference/inference_report.h"
#include "core/workbench/compare/page/page_parts.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_plot.h"

namespace switchyard::compare {
namespace {

using base::bytes_text;
using report::Curve;
using report::escape;
using report::HtmlTable;
using report::page_interval;
using report::page_number;
using report::shortened;

constexpr std::size_t plotted_arms = 12;
constexpr std::size_t plotted_lengths = 6;

bool writes(const InferenceResult& result) { return result.operation == Operation::generate; }

std::string bytes_or_dash(std::int64_t bytes) {
    return bytes < 0 ? "–" : bytes_text(static_cast<double>(bytes));
}

std::string interval_or_dash(const base::Interval& interval) {
    const auto found = known(interval);
    return found ? page_interval(*found) : "–";
}

std::string share_or_dash(double share) {
    return std::isfinite(share) ? page_number(100.0 * share, 2) + " %" : "–";
}

bool timed(const InferenceArmResult& arm, std::size_t workload) {
    return arm.ok() && arm.results[workload].pass.known();
}

std::string arm_name(const InferenceResult& result, std::size_t workload, std::size_t at) {
    const auto& arm = result.arms[at];
    std::string html = escape(shortened(arm.spec.name, 100));
    if (result.arms.size() > 1 && at == result.base()) html += " <strong>(base)</strong>";
    if (!arm.spec.cached) html += why("without a cache");
    if (arm.description != "switchyard") html += why(shortened(arm.description, 100));
    if (arm.results[workload].by_coordinator) html += why(timed_from_outside);
    return html;
}

// The arm that is fastest over the base on most workloads says it all in one line.
std::string headline(const InferenceResult& result) {
    const InferencePair* best = nullptr;
    for (const auto& pair : result.pairs) {
        if (pair.verdict != bench::SpeedVerdict::faster) continue;
        if (best == nullptr || pair.speedup.median > best->speedup.median) best = &pair;
    }
    const std::string what = writes(result) ? "Generation" : "Forward passes";
    if (best == nullptr) return what + ", timed";
    return what + ": " + shortened(result.arms[best->arm].spec.name, 100) + " is up to " +
           page_number(best->speedup.median) + " times as fast as " +
           shortened(result.arms[best->base].spec.name, 100);
}

std::string head(const InferenceResult& result, const ComparisonFacts& facts) {
    std::string html = "<h1>" + escape(headline(result)) + "</h1>\n";
    if (!facts.title.empty()) html += "<p class=\"lead\">" + escape(facts.title) + "</p>\n";
    if (const auto how = measured_text(result); !how.empty()) html += note(how + ".");
    if (result.stopped) html += notice("Stopped before its end: the numbers are of what was done.");
    std::vector<const ArmOutcome*> arms;
    for (const auto& arm : result.arms) arms.push_back(&arm);
    return html + arm_notices(arms);
}

// What a point of the curves is: latency to wait for, and what is done in that time.
report::Point point_of(const InferenceResult& result, std::size_t workload, const WorkloadResult& found) {
    if (!writes(result)) return {found.pass.ms.median, found.samples_per_second};
    if (found.next_token.known()) return {found.next_token.ms.median, found.decode_tokens_per_second};
    // There is one token only, or its arm was timed from outside.
    const auto tokens = static_cast<double>(result.workloads[workload].tokens);
    return {found.pass.ms.median / tokens, found.tokens_per_second};
}

// Workloads that differ in their batch alone, which is what moves along a curve.
std::map<std::string, std::vector<std::size_t>> by_length(const InferenceResult& result) {
    std::map<std::string, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < result.workloads.size(); ++i) {
        const auto& workload = result.workloads[i];
        groups[workload.lengths_text() + (workload.tokens > 0 ? " + " + std::to_string(workload.tokens) : "")]
            .push_back(i);
    }
    return groups;
}

std::vector<Curve> curves_of(const InferenceResult& result, std::vector<std::size_t> workloads) {
    std::sort(workloads.begin(), workloads.end(), [&](std::size_t a, std::size_t b) {
        return result.workloads[a].batch < result.workloads[b].batch;
    });
    std::vector<Curve> curves;
    for (std::size_t at = 0; at < std::min(result.arms.size(), plotted_arms); ++at) {
        Curve curve{result.arms[at].spec.name, hue_of(at), Curve::Look::dots, {}, at >= 8};
        for (const auto workload : workloads) {
            if (!timed(result.arms[at], workload)) continue;
            const auto point = point_of(result, workload, result.arms[at].results[workload]);
            if (std::isfinite(point.x) && std::isfinite(point.y)) curve.points.push_back(point);
        }
        if (!curve.points.empty()) curves.push_back(std::move(curve));
    }
    return curves;
}

std::string throughput(const InferenceResult& result) {
    std::string html;
    std::size_t shown = 0;
    for (const auto& [lengths, workloads] : by_length(result)) {
        if (shown++ == plotted_lengths) break;
        std::string batches;
        for (const auto workload : workloads)
            base::add_item(batches, std::to_string(result.workloads[workload].batch));
        report::LinePlot plot{"Throughput against latency, length " + lengths,
                              "",
                              writes(result) ? "new tokens a second" : "sequences a second",
                              curves_of(result, workloads),
                              true,
                              writes(result) ? "ms for each token" : "ms for each pass",
                              false};
        if (plot.curves.empty()) continue;
        for (const auto& curve : plot.curves)
            base::add_item(plot.description,
                           curve.name + ": up to " + page_number(curve.points.back().y) + " at " +
                               page_number(curve.points.back().x) + " ms",
                           "; ");
        html += "<figure>\n<h3>Length " + escape(lengths) + "</h3>\n" + report::legend(plot.curves) +
                report::line_plot_for_all(plot) + "<figcaption>Each point is a batch: " + escape(batches) +
                " sequences. Up is more throughput, left is less waiting.</figcaption>\n</figure>\n";
    }
    if (shown > plotted_lengths) html += note("Further lengths are in the tables only.");
    return html;
}

std::string tail_cells(const Latency& latency) {
    return latency.known() ? page_number(latency.p95) + ", " + page_number(latency.p99) : "–";
}

std::string verdict_cell(const InferenceResult& result, std::size_t workload, std::size_t at) {
    const auto* const pair = pair_of(result, workload, at);
    if (pair == nullptr) return at == result.base() ? "1" : "–";
    return interval_or_dash(pair->speedup) +
           why(report::in_words(name(pair->verdict)) + (pair->reason.empty() ? "" : ": " + pair->reason) +
               (pair->note.empty() ? "" : "; " + pair->note));
}

std::string forward_table(const InferenceResult& result, std::size_t workload) {
    HtmlTable table({{"Arm"},
                     {"dtype"},
                     {"ms a pass [95 %]", true},
                     {"p95, p99", true},
                     {"Sequences/s", true},
                     {"Tokens/s", true},
                     {"Peak memory", true},
                     {"Times the base"}});
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        if (!timed(result.arms[at], workload)) continue;
        const auto& found = result.arms[at].results[workload];
        table.row({arm_name(result, workload, at), escape(result.arms[at].dtype),
                   interval_or_dash(found.pass.ms), tail_cells(found.pass),
                   page_value(found.samples_per_second), page_value(found.tokens_per_second),
                   bytes_or_dash(found.peak_memory_bytes), verdict_cell(result, workload, at)});
    }
    return table.html();
}

std::string generation_table(const InferenceResult& result, std::size_t workload) {
    HtmlTable table({{"Arm"},
                     {"dtype"},
                     {"First token, ms", true},
                     {"Each token, ms [95 %]", true},
                     {"p95, p99", true},
                     {"Tokens/s", true},
                     {"Of read bandwidth", true},
                     {"Cache", true},
                     {"Times the base"}});
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        if (!timed(result.arms[at], workload)) continue;
        const auto& found = result.arms[at].results[workload];
        const bool decodes = found.next_token.known();
        table.row({arm_name(result, workload, at), escape(result.arms[at].dtype),
                   page_value(found.first_token.ms.median), interval_or_dash(found.next_token.ms),
                   tail_cells(found.next_token),
                   page_value(decodes ? found.decode_tokens_per_second : found.tokens_per_second),
                   share_or_dash(found.read_share), bytes_or_dash(found.cache_bytes),
                   verdict_cell(result, workload, at)});
    }
    return table.html();
}

std::string latencies(const InferenceResult& result) {
    std::string html;
    for (std::size_t workload = 0; workload < result.workloads.size(); ++workload) {
        if (result.blocks[workload] == 0) continue;
        const auto& asked = result.workloads[workload];
        html += "<h3 class=\"next\">" +
                escape(base::counted(static_cast<std::size_t>(asked.batch), "sequence") + " of " +
                       asked.lengths_text() +
                       (asked.tokens > 0 ? ", " + std::to_string(asked.tokens) + " new tokens each" : "")) +
                "</h3>\n" +
                (writes(result) ? generation_table(result, workload) : forward_table(result, workload));
    }
    return html;
}

std::string caches(const InferenceResult& result) {
    const auto rows = cache_rows(result);
    if (rows.empty()) return "";
    HtmlTable table({{"Prompt and new tokens"},
                     {"With a cache, ms", true},
                     {"Without, ms", true},
                     {"Times as fast [95 %]", true},
                     {"Tokens of work, with and without", true},
                     {"Their ratio", true},
                     {"Cache", true}});
    for (const auto& row : rows) {
        const auto& workload = result.workloads[row.workload];
        const auto& with = result.arms[row.cached].results[row.workload];
        const auto& without = result.arms[row.whole].results[row.workload];
        table.row({escape(workload.text()), page_value(with.pass.ms.median),
                   page_value(without.pass.ms.median), interval_or_dash(row.speedup),
                   std::to_string(tokens_with_cache(workload.lengths.max, workload.tokens)) + ", " +
                       std::to_string(tokens_without_cache(workload.lengths.max, workload.tokens)),
                   page_value(row.tokens_ratio), bytes_or_dash(with.cache_bytes)});
    }
    return table.html() +
           note(
               "Without a cache each new token runs its whole sequence through the model again; "
               "the ratio of the tokens is what would be gained if each cost the same.");
}

std::string weights(const InferenceResult& result) {
    report::BarPlot plot{"Memory of weights", "", "", {}};
    double largest = 0.0;
    for (const auto& arm : result.arms) largest = std::max(largest, static_cast<double>(arm.weight_bytes));
    const double unit = largest >= 1e9 ? 1e9 : 1e6;
    plot.x_label = std::string("bytes held before any sequence comes, ") + (unit == 1e9 ? "GB" : "MB");
    for (std::size_t at = 0; at < std::min(result.arms.size(), plotted_arms); ++at) {
        const auto& arm = result.arms[at];
        if (!arm.ok() || arm.weight_bytes < 0) continue;
        const double size = static_cast<double>(arm.weight_bytes) / unit;
        plot.bars.push_back(
            {arm.spec.name, bytes_or_dash(arm.weight_bytes), base::Interval{size, size, size}, hue_of(at)});
        base::add_item(plot.description, arm.spec.name + ": " + plot.bars.back().label, "; ");
    }
    return plot.bars.empty() ? "" : "<figure>\n" + report::bar_plot_for_all(plot) + "</figure>\n";
}

std::string outputs(const InferenceResult& result) {
    HtmlTable table({{"Arm"}, {"Distance", true}, {"Rounding explains", true}, {"Same tokens", true}});
    bool any = false;
    for (std::size_t at = 0; at < result.arms.size(); ++at) {
        const auto& arm = result.arms[at];
        if (!arm.ok() || at == result.base()) continue;
        any = true;
        table.row({escape(arm.spec.name), page_value(arm.drift, 2), page_value(arm.allowed, 2),
                   share_or_dash(arm.results.front().same_tokens)});
    }
    if (!any) return "";
    return note(
               "Relative distance of the first workload's outputs from the base's, with equal weights and "
               "the "
               "same sequences; and which share of the likeliest tokens comes before the first that "
               "differs.") +
           table.html();
}

std::string what_ran(const InferenceResult& result) {
    const auto called = writes(result) ? base::Called::by_phase : base::Called::at_all;
    HtmlTable table({{"Arm"}, {"What ran, counted"}});
    bool any = false;
    for (const auto& arm : result.arms) {
        if (!arm.ok()) continue;
        const auto ran = base::executed_text(arm.results.front().executed, called);
        if (ran.empty() && arm.description.empty()) continue;
        any = true;
        table.row({escape(arm.spec.name), escape(shortened(ran.empty() ? arm.description : ran, 600))});
    }
    return any ? table.html() : "";
}

std::string how(const InferenceResult& result, const ComparisonFacts& facts) {
    std::string blocks;
    for (std::size_t i = 0; i < result.workloads.size(); ++i)
        base::add_item(blocks, std::to_string(result.blocks[i]) + " (" + result.workloads[i].text() +
                                   ", each arm " + std::to_string(result.passes_per_block[i]) +
                                   (result.passes_per_block[i] == 1 ? " pass)" : " passes)"));
    const double read = result.peaks.read_gbytes_per_second;
    std::vector<report::Fact> list{{"Configuration", facts.config},
                                   {"Its fingerprint", facts.config_fingerprint},
                                   {"Blocks", blocks},
                                   {"Read bandwidth", read > 0.0 ? page_number(read) + " GB/s" : ""},
                                   {"Seed of the order", std::to_string(result.seed)}};
    list.insert(list.end(), facts.host.begin(), facts.host.end());
    return facts_table(list, facts.command);
}

}  // namespace

std::string inference_page(const InferenceResult& result, const ComparisonFacts& facts) {
    const auto body = head(result, facts) + section("Throughput against latency", throughput(result)) +
                      section("Latency", latencies(result)) +
                      section("What the cache saves", caches(result)) + section("Memory", weights(result)) +
                      section("Outputs", outputs(result)) + section("What ran", what_ran(result)) +
                      section("How", how(result, facts));
    return report::page(headline(result), body);
}

}  // namespace switchyard::compare

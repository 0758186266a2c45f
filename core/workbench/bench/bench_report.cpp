#include "core/workbench/bench/bench_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include <switchyard/interfaces/reason_text.h>
#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/resolver/reasons_json.h"
#include "core/workbench/bench/bench_sweep.h"
#include "core/workbench/bench/measure/text_table.h"

namespace switchyard::bench {

namespace {

using nlohmann::json;

std::string percent(double value) {
    if (!std::isfinite(value)) return "-";
    char text[32];
    std::snprintf(text, sizeof text, "%.*f %%", value < 99.95 ? 1 : 0, value);
    return text;
}

// The word of the verdict; not being able to tell is no word of praise or blame.
std::string verdict_text(SpeedVerdict finding) {
    return finding == SpeedVerdict::cannot_tell ? "?" : std::string(name(finding));
}

bool same_group(const BenchRow& a, const BenchRow& b) {
    return a.shape == b.shape && a.dtype == b.dtype && a.pass == b.pass && a.settings.kind == b.settings.kind;
}

std::string title(const BenchRow& row) {
    std::string text =
        std::string(name(row.settings.kind)) + " " + row.shape + "  " + std::string(name(row.dtype));
    const std::string special = row.settings.describe();
    return text + (special.empty() ? "" : "  " + special) + "  " + std::string(name(row.pass));
}

// What a row is set against: products of matrices, copying, or reading.
const char* yardstick(const BenchRow& row) {
    return !row.memory_bound ? "of peak" : row.reads_only ? "of read" : "of copy";
}

double percent_of_yardstick(const BenchRow& row) {
    if (!row.memory_bound) return row.percent_of_peak;
    return row.reads_only ? row.percent_of_read_bandwidth : row.percent_of_copy_bandwidth;
}

std::vector<TextTable::Column> columns(const BenchRow& row) {
    using Align = TextTable::Align;
    return {{"backend", Align::left},
            {"ms [95 % interval]", Align::left},
            {row.memory_bound ? "GB/s" : "GFLOP/s"},
            {yardstick(row)},
            {"memory"},
            {"speedup [95 %]", Align::left},
            {"", Align::left},
            {"error / allowed", Align::left}};
}

std::vector<std::string> cells(const BenchRow& row) {
    if (!row.timed()) return {row.asked, std::string(name(row.status))};
    const bool is_base = row.is_base();
    const std::string speed = !row.speedup ? "-" : is_base ? "1 (base)" : base::interval_text(*row.speedup);
    const bool wrong = row.status == RowStatus::wrong;
    const std::string finding = wrong                     ? "WRONG"
                                : row.speedup && !is_base ? verdict_text(judge(*row.speedup))
                                                          : "";
    const std::string error = std::isnan(row.error.error) ? "not checked"
                                                          : base::scientific(row.error.error) + " / " +
                                                                base::scientific(row.error.allowed);
    return {row.ran(),
            base::interval_text(row.ms),
            base::digits(row.memory_bound ? row.gbytes_per_second : row.gflops),
            percent(percent_of_yardstick(row)),
            row.extra_memory_bytes < 0 ? "-" : base::bytes_text(static_cast<double>(row.extra_memory_bytes)),
            speed,
            finding,
            error};
}

void add_row(TextTable& table, const BenchRow& row) {
    table.row(cells(row));
    if (!row.message.empty()) table.note(row.message);
    for (const Reason& reason : row.reasons) table.note(to_text(reason));
    if (!row.composed.empty() && row.timed())
        table.note("done by the core around it: " + base::joined(row.composed));
    if (row.status == RowStatus::wrong) {
        table.note("WRONG: the " + row.error.of + " is " + base::scientific(row.error.error) +
                   " from the float64 oracle, allowed are " + base::scientific(row.error.allowed) +
                   "; its time means nothing");
    }
    if (row.timed() && row.error.without_dropout)
        table.note("draws random numbers of its own: error measured with dropout off");
}

// What a reader has to know of the whole group.
std::string group_footer(const BenchRow* begin, const BenchRow* end, std::int64_t last_cache) {
    int blocks = 0, outliers = 0, samples = 0;
    bool ratios = false, cached = false;
    std::string part, worst;
    for (const BenchRow* row = begin; row != end; ++row) {
        blocks = std::max(blocks, row->blocks);
        samples += row->blocks;
        outliers += row->outliers;
        ratios = ratios || row->speedup.has_value();
        cached = cached || (row->memory_bound && row->timed() &&
                            row->footprint_bytes < static_cast<double>(last_cache));
        if (!row->timed() || row->error.of.empty()) continue;
        part = row->error.part;
        base::add_item(worst, row->error.of);
    }
    if (samples == 0) return "";
    std::string text = std::to_string(blocks) + " blocks";
    if (outliers > 0)
        text += ", " + std::to_string(outliers) + " of " + std::to_string(samples) +
                " samples left out as outliers";
    if (!begin->base.empty() && !ratios)
        text += "; no ratios, because the base " + begin->base + " did not run";
    if (cached)
        text += "; what a call touches fits the last cache (" +
                base::bytes_text(static_cast<double>(last_cache)) + ")";
    if (!worst.empty()) text += "; error: " + worst + (part.empty() ? "" : " over " + part);
    return wrap(text, 110, "  ") + "\n";
}

// "state: torch 876 MB, optim8bit 366 MB (41.8 %)", or "".
std::string state_text(const BenchRow* begin, const BenchRow* end) {
    const auto largest = std::max_element(begin, end, [](const BenchRow& a, const BenchRow& b) {
                             return a.state_bytes < b.state_bytes;
                         })->state_bytes;
    std::string text;
    for (const BenchRow* row = begin; row != end; ++row) {
        if (!row->timed() || row->state_bytes == 0) continue;
        const auto bytes = static_cast<double>(row->state_bytes);
        text += (text.empty() ? "state: " : ", ") + row->asked + " " + base::bytes_text(bytes);
        if (row->state_bytes < largest)
            text += " (" + percent(100.0 * bytes / static_cast<double>(largest)) + ")";
    }
    return text.empty() ? "" : wrap(text, 110, "  ") + "\n";
}

std::string group_text(const BenchRow* begin, const BenchRow* end, const BenchReport& report) {
    const auto bound = std::find_if(begin, end, [](const BenchRow& row) { return row.memory_bound; });
    TextTable table(columns(bound == end ? *begin : *bound));
    for (const BenchRow* row = begin; row != end; ++row) add_row(table, *row);
    return title(*begin) + "\n" + table.render("") + group_footer(begin, end, report.host.l3_bytes) +
           state_text(begin, end) + sweep_text(begin, end, report.memory_budget_bytes) + "\n";
}

std::string peaks_text(const Peaks& peaks) {
    std::string text;
    for (const auto& [dtype, gflops] : peaks.matmul_gflops) {
        base::add_item(text, std::string(name(dtype)) + " products " + base::digits(gflops) + " GFLOP/s");
        const auto of = peaks.matmul_of.find(dtype);
        if (of != peaks.matmul_of.end()) text += " (" + of->second + ")";
    }
    if (peaks.copy_gbytes_per_second > 0.0) {
        base::add_item(text, "copy " + base::digits(peaks.copy_gbytes_per_second) + " GB/s, read " +
                                 base::digits(peaks.read_gbytes_per_second) + " GB/s (buffers of " +
                                 base::bytes_text(static_cast<double>(peaks.buffer_bytes)) + ")");
    }
    return text.empty() ? "" : wrap("peaks in this run: " + text, 110, "  ") + "\n";
}

json executed_json(const BenchRow& row) {
    json list = json::array();
    for (const auto& [variant, calls] : row.executed)
        list.push_back({{"variant", variant}, {"calls", calls}});
    return list;
}

json row_json(const BenchRow& row) {
    json result{{"op", name(row.settings.kind)},
                {"backend", row.asked},
                {"plugin", row.plugin},
                {"component", row.component},
                {"variant", row.variant},
                {"dtype", name(row.dtype)},
                {"shape", row.shape},
                {"causal", row.settings.causal},
                {"masks", names_of(row.settings.masks())},
                {"layout", name(row.settings.layout)},
                {"dropout", row.settings.dropout},
                {"settings", row.settings.describe()},
                {"pass", name(row.pass)},
                {"status", name(row.status)},
                {"reasons", resolver::reasons_json(row.reasons)},
                {"message", row.message},
                {"base", row.base}};
    result["ms"] = row.timed() ? base::to_json(row.ms) : base::Json(nullptr);
    result["speedup_over_base"] =
        row.timed() && row.speedup ? base::to_json(*row.speedup) : base::Json(nullptr);
    result["verdict"] = row.timed() && row.speedup ? json(name(judge(*row.speedup))) : json(nullptr);
    result["gflops"] = base::number_or_null(row.gflops);
    result["percent_of_peak"] = base::number_or_null(row.percent_of_peak);
    result["gbytes_per_second"] = base::number_or_null(row.gbytes_per_second);
    result["percent_of_copy_bandwidth"] = base::number_or_null(row.percent_of_copy_bandwidth);
    result["percent_of_read_bandwidth"] = base::number_or_null(row.percent_of_read_bandwidth);
    result["extra_memory_bytes"] = row.extra_memory_bytes < 0 ? json(nullptr) : json(row.extra_memory_bytes);
    result["state_bytes"] = row.state_bytes;
    result["error"] = base::number_or_null(row.error.error);
    result["error_allowed"] = base::number_or_null(row.error.allowed);
    result["error_of"] = row.error.of;
    result["error_part"] = row.error.part;
    result["error_without_dropout"] = row.error.without_dropout;
    result["executed"] = executed_json(row);
    result["options"] = json::object();
    if (!row.swept_option.empty()) result["options"][row.swept_option] = row.swept_value;
    result["composed"] = row.composed;
    result["blocks"] = row.blocks;
    result["outliers"] = row.outliers;
    result["calls_per_sample"] = row.calls_per_sample;
    return result;
}

}  // namespace

std::string swept_name(const std::string& backend, const std::string& option, std::int64_t value) {
    return backend + " " + option + "=" + std::to_string(value);
}

std::string BenchRow::named() const {
    return swept_option.empty() ? asked : swept_name(asked, swept_option, swept_value);
}

std::string BenchRow::ran() const {
    const std::string component_text = plugin == component ? component : plugin + "/" + component;
    return component_text + (variant.empty() ? "" : "@" + variant) +
           (swept_option.empty() ? "" : " " + swept_option + "=" + std::to_string(swept_value));
}

int BenchReport::exit_code() const {
    const auto any = [this](RowStatus status) {
        return std::any_of(rows.begin(), rows.end(),
                           [status](const BenchRow& row) { return row.status == status; });
    };
    if (any(RowStatus::wrong)) return 5;
    if (any(RowStatus::failed)) return 1;
    return any(RowStatus::ok) ? 0 : 2;
}

std::string to_text(const BenchReport& report) {
    std::string text;
    const BenchRow* const end = report.rows.data() + report.rows.size();
    for (const BenchRow* begin = report.rows.data(); begin != end;) {
        const BenchRow* const next =
            std::find_if(begin, end, [begin](const BenchRow& row) { return !same_group(*begin, row); });
        text += group_text(begin, next, report);
        begin = next;
    }
    const auto compared = [](const BenchRow& row) { return row.speedup && !row.is_base(); };
    if (std::any_of(report.rows.begin(), report.rows.end(), compared)) {
        text += "FASTER, SLOWER: the interval excludes 1; SAME: all of it is within 2 %; ?: neither\n";
    }
    text += peaks_text(report.peaks);
    text += wrap("host: " + report.host.cpu_model + ", " + std::to_string(report.threads) +
                     (report.threads == 1 ? " thread" : " threads") + ", LibTorch " +
                     report.host.libtorch_version + ", " + report.allocator + " allocator; seed " +
                     std::to_string(report.seed) + "; " + base::digits(report.elapsed_ms / 1000.0) + " s",
                 110, "  ") +
            "\n";
    return text;
}

json to_json(const HostInfo& host) {
    json devices = json::array();
    for (const DeviceInfo& device : host.devices) {
        devices.push_back({{"device", name(device.device)},
                           {"name", device.name},
                           {"compute_capability", device.compute_capability},
                           {"memory_bytes", device.memory_bytes}});
    }
    return {{"name", host.name},
            {"cpu_model", host.cpu_model},
            {"cores", host.cores},
            {"cpu_features", host.cpu_features},
            {"l2_bytes", host.l2_bytes},
            {"l3_bytes", host.l3_bytes},
            {"memory_bytes", host.memory_bytes},
            {"libtorch_version", host.libtorch_version},
            {"devices", devices}};
}

json to_json(const Peaks& peaks) {
    json gflops = json::object(), of = json::object();
    for (const auto& [dtype, value] : peaks.matmul_gflops) gflops[std::string(name(dtype))] = value;
    for (const auto& [dtype, value] : peaks.matmul_of) of[std::string(name(dtype))] = value;
    return {{"matmul_gflops", gflops},
            {"matmul_of", of},
            {"buffer_bytes", peaks.buffer_bytes},
            {"copy_gbytes_per_second", peaks.copy_gbytes_per_second},
            {"read_gbytes_per_second", peaks.read_gbytes_per_second}};
}

json to_json(const BenchReport& report) {
    json rows = json::array();
    for (const BenchRow& row : report.rows) rows.push_back(row_json(row));
    return {{"rows", rows},
            {"peaks", to_json(report.peaks)},
            {"host", to_json(report.host)},
            {"command", report.command},
            {"seed", report.seed},
            {"threads", report.threads},
            {"allocator", report.allocator},
            {"elapsed_ms", report.elapsed_ms},
            {"exit_code", report.exit_code()}};
}

}  // namespace switchyard::bench

#include "core/workbench/compare/fit/fit_report.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/text_table.h"

namespace switchyard::compare {
namespace {

using Json = nlohmann::ordered_json;
using Align = bench::TextTable::Align;

constexpr std::size_t longest_bar = 30;

std::string size_text(std::int64_t bytes) {
    return bytes < 0 ? "-" : base::bytes_text(static_cast<double>(bytes));
}

// The first line of the reason: the table has it all.
std::string failure_text(const FitSample& sample) {
    return std::to_string(sample.size) + " failed: " + sample.reason.substr(0, sample.reason.find('\n'));
}

std::string conclusion(const FitResult& result, std::int64_t memory_bytes) {
    const auto memory = size_text(memory_bytes);
    const auto* const failed = result.failed_above();
    if (result.largest == 0) {
        if (result.stopped) return "stopped before anything was known";
        return failed != nullptr ? failure_text(*failed) : "not even one sample fits into " + memory;
    }
    const auto size = "batch.size = " + std::to_string(result.largest);
    if (result.stopped) return size + " fits into " + memory + "; stopped before larger ones were tried";
    if (result.at_most)
        return size + " fits into " + memory + ", and larger ones were not tried (" + result.most_is + ")";
    if (failed != nullptr) return size + " fits into " + memory + "; " + failure_text(*failed);
    return size + " is the largest that fits into " + memory;
}

}  // namespace

std::string fit_text(const FitResult& result, std::int64_t memory_bytes) {
    double fastest = 0.0;
    for (const auto& one : result.samples) {
        if (std::isfinite(one.samples_per_second)) fastest = std::max(fastest, one.samples_per_second);
    }
    bench::TextTable table({{"batch"}, {"memory"}, {"samples/s"}, {"", Align::left}});
    for (const auto& one : result.samples) {
        const bool fits = one.outcome == FitOutcome::fits;
        std::string bar;
        if (fits && fastest > 0.0 && std::isfinite(one.samples_per_second))
            bar.assign(static_cast<std::size_t>(std::lround(longest_bar * one.samples_per_second / fastest)),
                       '=');
        table.row({std::to_string(one.size), size_text(one.peak_bytes), base::digits(one.samples_per_second),
                   fits                                   ? bar
                   : one.outcome == FitOutcome::too_large ? "too large"
                                                          : "failed"});
        if (!fits && !one.reason.empty()) table.note(one.reason);
    }
    return table.render("  ", 100) + "\n" + conclusion(result, memory_bytes) + "\n";
}

Json fit_json(const FitResult& result, std::int64_t memory_bytes) {
    Json sizes = Json::array();
    for (const auto& one : result.samples)
        sizes.push_back({{"batch_size", one.size},
                         {"outcome", name(one.outcome)},
                         {"reason", one.reason},
                         {"peak_memory_bytes", one.peak_bytes < 0 ? Json(nullptr) : Json(one.peak_bytes)},
                         {"samples_per_second", base::number_or_null(one.samples_per_second)}});
    const auto* const failed = result.failed_above();
    return {{"memory_bytes", memory_bytes},
            {"batch_size", result.largest > 0 ? Json(result.largest) : Json(nullptr)},
            {"at_most", result.at_most},
            {"stopped", result.stopped},
            {"failed_above", failed == nullptr ? Json(nullptr) : Json(failed->size)},
            {"sizes", sizes}};
}

}  // namespace switchyard::compare

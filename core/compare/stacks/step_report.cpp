// How a report of training steps reads, as text and as JSON.
#include <cstdio>

#include <nlohmann/json.hpp>

#include <switchyard/compare/bench/bench_report.h>
#include <switchyard/compare/measure/text_table.h>
#include <switchyard/compare/stacks/step_bench.h>

namespace switchyard::compare {

std::string to_text(const StepReport& report) {
    using Align = TextTable::Align;
    TextTable table({{"stack", Align::left},
                     {"dtype", Align::left},
                     {"ms [95 % interval]", Align::left},
                     {"samples/s"},
                     {"memory"},
                     {"speedup [95 %]", Align::left},
                     {"", Align::left},
                     {"loss"},
                     {"gradients differ by"}});
    int blocks = 0, spoilt = 0;
    for (const StepRow& row : report.rows) {
        if (!row.message.empty()) {
            table.row({row.stack, row.dtype, "not timed"});
            table.note(row.message);
            continue;
        }
        const bool base = &row == &report.rows.front();
        char drift[32];
        std::snprintf(drift, sizeof drift, "%.0e", row.drift);
        const std::string verdict = base || !row.speedup ? "" : std::string(name(judge(*row.speedup)));
        table.row({row.stack, row.dtype, interval_text(row.ms), digits(row.samples_per_second),
                   bytes_text(static_cast<double>(row.extra_memory_bytes)),
                   base          ? "1 (base)"
                   : row.speedup ? interval_text(*row.speedup)
                                 : "-",
                   report.over(row) ? "OVER" : verdict, digits(row.loss, 5), base ? "" : drift});
        blocks = row.blocks;
        spoilt += row.spoilt;
    }
    return "training steps (" + report.model + ")\n" + table.render() + "  " + std::to_string(blocks) +
           " blocks" + (spoilt > 0 ? ", " + std::to_string(spoilt) + " samples spoilt and thrown away" : "") +
           (report.plain
                ? "; OVER: more than " + digits(100.0 * report.limit, 1) + " % over plain LibTorch for sure"
                : "") +
           "\n";
}

nlohmann::json to_json(const StepReport& report) {
    nlohmann::json rows = nlohmann::json::array();
    const nlohmann::json nothing;
    for (const StepRow& row : report.rows) {
        const bool timed = row.message.empty();
        rows.push_back({{"op", "step"},
                        {"backend", row.stack},
                        {"overrides", row.overrides},
                        {"message", row.message},
                        {"ran", row.ran},
                        {"dtype", row.dtype},
                        {"base", report.rows.front().stack},
                        {"blocks", row.blocks},
                        {"spoilt_samples", row.spoilt},
                        {"ms", timed ? to_json(row.ms) : nothing},
                        {"speedup_over_base", timed && row.speedup ? to_json(*row.speedup) : nothing},
                        {"samples_per_second", timed ? nlohmann::json(row.samples_per_second) : nothing},
                        {"tokens_per_second", timed ? nlohmann::json(row.tokens_per_second) : nothing},
                        {"extra_memory_bytes", timed ? nlohmann::json(row.extra_memory_bytes) : nothing},
                        {"loss", timed ? nlohmann::json(row.loss) : nothing},
                        {"drift", timed ? nlohmann::json(row.drift) : nothing},
                        {"over", report.over(row)}});
    }
    const auto* fastest = report.fastest();
    return {{"rows", rows},
            {"model", report.model},
            {"fastest", fastest == nullptr ? nothing : nlohmann::json(fastest->stack)},
            {"exit_code", report.exit_code()}};
}

}  // namespace switchyard::compare

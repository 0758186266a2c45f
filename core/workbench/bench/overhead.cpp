#include "core/workbench/bench/overhead.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/resolver/resolver.h"
#include "core/kernel/runtime/guard.h"
#include "core/workbench/bench/bench_case.h"
#include "core/workbench/bench/measure/text_table.h"

namespace switchyard::bench {

namespace {

Interval inverse(const Interval& interval) {
    return {1.0 / interval.median, 1.0 / interval.high, 1.0 / interval.low};
}

std::string variants(const runtime::BindingBase& binding) {
    std::string text;
    for (const auto& [variant, calls] : binding.executed().calls()) base::add_item(text, variant, "+");
    return text;
}

void measure(OverheadRow& row, BenchCase& bench_case, const BenchRequest& request, const BenchWorld& world) {
    const std::function<void()> bare = bench_case.bare(row.pass);
    if (!bare) return void(row.message = "LibTorch has no such call");
    resolver::SlotUse use = bench_case.use(row.pass);
    use.config = request.slot;
    use.config.backend = {row.asked};
    const resolver::PlanRow plan = resolver::resolve(use, world.candidates, world.host, {.explain = false});
    if (!plan.chosen) return void(row.message = "refused: " + plan.error);
    const std::unique_ptr<Contender> contender = bench_case.bind(plan, world.registry, world.host, row.pass);
    const TimingResult result =
        time_arms({{"bare", bare}, {row.asked, [&] { contender->run(); }}}, request.timing, world.stopwatch);
    row.bare_ms = result.arms[0].ms;
    row.ms = result.arms[1].ms;
    row.ratio = inverse(result.speedup_of(1, 0));
    row.blocks = result.blocks;
    row.outliers = result.outliers();
    const std::string variant = variants(contender->binding());
    row.ran = plan.chosen->component + (variant.empty() ? "" : "@" + variant);
}

std::vector<Pass> passes_of(Kind kind) {
    if (kind == Kind::optimizer) return {Pass::step};
    return {Pass::forward, Pass::forward_backward};
}

}  // namespace

int OverheadReport::exit_code() const {
    if (std::any_of(rows.begin(), rows.end(), [this](const OverheadRow& row) { return over(row); })) return 3;
    return std::any_of(rows.begin(), rows.end(), [](const OverheadRow& row) { return row.message.empty(); })
               ? 0
               : 1;
}

OverheadReport run_overhead(const std::vector<BenchRequest>& requests, const BenchWorld& world) {
    OverheadReport report;
    for (BenchRequest request : requests) {
        const Kind kind = request.settings.kind;
        request.timing.time_budget_ms /=
            static_cast<double>(2 * requests.size() * request.dtypes.size() * request.backends.size());
        const BenchShape shape = *parse_shape(kind, default_shapes(kind).front()).shape;
        for (const DType dtype : request.dtypes) {
            const std::unique_ptr<BenchCase> bench_case = make_case(request.settings, shape, dtype);
            for (const Pass pass : passes_of(kind)) {
                for (const std::string& backend : request.backends) {
                    OverheadRow row;
                    row.kind = kind;
                    row.shape = shape.text;
                    row.settings = request.settings.describe();
                    row.dtype = dtype;
                    row.pass = pass;
                    row.asked = row.ran = backend;
                    if (world.progress)
                        world.progress(std::string(name(kind)) + " " + shape.text + " " +
                                       std::string(name(pass)));
                    try {
                        measure(row, *bench_case, request, world);
                    } catch (const runtime::PluginError& error) {
                        row.message = error.what();
                    }
                    report.rows.push_back(std::move(row));
                }
            }
        }
    }
    return report;
}

std::string to_text(const OverheadReport& report) {
    using Align = TextTable::Align;
    TextTable table({{"operation", Align::left},
                     {"pass", Align::left},
                     {"backend", Align::left},
                     {"plain ms"},
                     {"ms"},
                     {"ratio [95 %]", Align::left},
                     {"", Align::left}});
    int outliers = 0;
    for (const OverheadRow& row : report.rows) {
        const std::string operation =
            std::string(name(row.kind)) + " " + row.shape + " " + std::string(name(row.dtype));
        outliers += row.outliers;
        if (!row.message.empty()) {
            table.row({operation, std::string(name(row.pass)), row.ran, "-", "-", "-", ""});
            table.note(row.message);
            continue;
        }
        table.row({operation, std::string(name(row.pass)), row.ran, base::digits(row.bare_ms.median),
                   base::digits(row.ms.median), base::interval_text(row.ratio, 4),
                   report.over(row) ? "OVER" : ""});
    }
    return "time through a component over that of the plain LibTorch calls; OVER: more than " +
           base::digits(100.0 * report.limit, 1) + " % for sure\n" + table.render() +
           (outliers > 0 ? "  " + std::to_string(outliers) + " samples left out as outliers\n" : "");
}

nlohmann::json to_json(const OverheadReport& report) {
    nlohmann::json rows = nlohmann::json::array();
    for (const OverheadRow& row : report.rows) {
        const bool timed = row.message.empty();
        const auto interval = [timed](const Interval& value) {
            return timed ? base::to_json(value) : base::Json(nullptr);
        };
        rows.push_back({{"op", name(row.kind)},
                        {"shape", row.shape},
                        {"settings", row.settings},
                        {"dtype", name(row.dtype)},
                        {"pass", name(row.pass)},
                        {"backend", row.asked},
                        {"ran", row.ran},
                        {"message", row.message},
                        {"bare_ms", interval(row.bare_ms)},
                        {"ms", interval(row.ms)},
                        {"ratio", interval(row.ratio)},
                        {"over", timed && report.over(row)},
                        {"blocks", row.blocks},
                        {"outliers", row.outliers}});
    }
    return {{"rows", rows}, {"limit", report.limit}, {"exit_code", report.exit_code()}};
}

}  // namespace switchyard::bench

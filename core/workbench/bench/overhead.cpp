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

OverheadReport run_overhead(const BenchRequest& request, const std::vector<BenchSettings>& settings,
                            const BenchWorld& world) {
    OverheadReport report;
    BenchRequest part = request;
    part.timing.time_budget_ms /=
        static_cast<double>(2 * settings.size() * request.dtypes.size() * request.backends.size());
    for (const BenchSettings& of_kind : settings) {
        const BenchShape shape = *parse_shape(of_kind.kind, default_shapes(of_kind.kind).front()).shape;
        for (const DType dtype : request.dtypes) {
            const std::unique_ptr<BenchCase> bench_case = make_case(of_kind, shape, dtype);
            for (const Pass pass : passes_of(of_kind.kind)) {
                for (const std::string& backend : request.backends) {
                    OverheadRow row{of_kind.kind,
                                    shape.text,
                                    of_kind.describe(),
                                    dtype,
                                    pass,
                                    backend,
                                    backend,
                                    "",
                                    {},
                                    {},
                                    {},
                                    0,
                                    0};
                    if (world.progress)
                        world.progress(std::string(name(of_kind.kind)) + " " + shape.text + " " +
                                       std::string(name(pass)));
                    try {
                        measure(row, *bench_case, part, world);
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

// A ladder's rows, and how they read on a terminal and as JSON.
#include "core/workbench/compare/ladder/ladder_report.h"

#include <cmath>
#include <functional>

#include <nlohmann/json.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/bench_report.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/comparison_report.h"
#include "core/workbench/compare/experiment/contrast.h"
#include "core/workbench/compare/experiment/effects.h"

namespace switchyard::compare {
namespace {

using Json = nlohmann::ordered_json;
using Align = bench::TextTable::Align;

std::string indent_of(int depth) { return std::string(static_cast<std::size_t>(2 * depth), ' '); }

std::string ratio_text(const std::optional<bench::RatioEstimate>& estimate) {
    return estimate ? base::interval_text(estimate->ratio) : "-";
}

std::string stable_text(const ArmResult& arm) {
    const auto& stable = arm.stability.stable;
    return !stable ? "-" : *stable ? "yes" : "NO";
}

std::string memory_text(const ArmResult& arm) {
    return arm.peak_memory_bytes < 0 ? "-" : base::bytes_text(static_cast<double>(arm.peak_memory_bytes));
}

Json maybe(const std::optional<double>& value) {
    return value ? base::number_or_null(*value) : Json(nullptr);
}

// A column of the table, and what it says of a rung that ran.
struct RungColumn {
    bench::TextTable::Column head;
    std::function<std::string(const LadderRow&)> cell;
    bool told_once = false;  // before the table, where all rungs have the same
};

std::vector<RungColumn> columns_of(const std::vector<LadderRow>& rows,
                                   const std::optional<EvalMetric>& score) {
    const bool writes = !rows.empty() && rows.front().writes;
    std::vector<RungColumn> columns{
        {{writes ? "new tokens/s" : "samples/s"},
         [writes](const LadderRow& row) {
             return base::digits(writes ? row.result->tokens_per_second : row.result->samples_per_second);
         }},
        {{"over the base [95 %]"}, [](const LadderRow& row) { return ratio_text(row.over_base); }},
        {{"over its parent [95 %]"}, [](const LadderRow& row) { return ratio_text(row.over_parent); }},
        {{"batch"},
         [](const LadderRow& row) { return row.place->batch > 0 ? std::to_string(row.place->batch) : "-"; },
         true},
        {{"lr"},
         [](const LadderRow& row) {
             return row.place->learning_rate > 0.0 ? learning_rate_text(row.place->learning_rate) : "-";
         },
         true},
        {{"start-up"}, [](const LadderRow& row) { return start_up_text(*row.result); }},
        {{"memory"}, [](const LadderRow& row) { return memory_text(*row.result); }}};
    if (score)
        columns.push_back({{std::string(name(*score))}, [metric = *score](const LadderRow& row) {
                               const auto value = row.score(metric);
                               return value ? base::digits(*value, 4) : "-";
                           }});
    columns.push_back({{"stable"}, [](const LadderRow& row) { return stable_text(*row.result); }});
    return columns;
}

// What it says of every rung that ran; "": not of all the same.
std::string common_cell(const RungColumn& column, const std::vector<LadderRow>& rows) {
    std::string common;
    for (const auto& row : rows) {
        if (!row.ran()) continue;
        const auto cell = column.cell(row);
        if (!common.empty() && cell != common) return "";
        common = cell;
    }
    return common;
}

}  // namespace

std::vector<LadderRow> ladder_rows(const Ladder& ladder, const std::vector<RungPlace>& places,
                                   const Comparison& comparison) {
    const auto arm_of = [&](std::size_t rung) -> std::optional<std::size_t> {
        const auto arm = places[rung].arm;
        return arm && comparison.arms[*arm].ok() ? arm : std::nullopt;
    };
    const auto over = [&](std::size_t rung, std::size_t other) -> std::optional<bench::RatioEstimate> {
        const auto arm = arm_of(rung), base = arm_of(other);
        if (!arm || !base || *arm == *base) return std::nullopt;
        auto estimate = contrast(comparison, {{*arm, 1.0}, {*base, -1.0}});
        if (!std::isfinite(estimate.ratio.median)) return std::nullopt;
        return estimate;
    };
    std::vector<LadderRow> rows;
    for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
        auto& row = rows.emplace_back();
        row.rung = &ladder.rungs[at];
        row.place = &places[at];
        if (places[at].arm) row.result = &comparison.arms[*places[at].arm];
        row.depth = ladder.depth(at);
        row.writes = comparison.operation == Operation::generate;
        if (const auto arm = arm_of(at)) {
            const auto metric = comparison.eval_metric;
            const auto score = median_of(comparison.arms[*arm].evaluations, metric);
            if (metric == EvalMetric::accuracy) row.accuracy = score;
            if (metric == EvalMetric::perplexity) row.perplexity = score;
        }
        row.over_base = over(at, 0);
        if (const auto parent = ladder.parent(at)) row.over_parent = over(at, *parent);
    }
    return rows;
}

std::string LadderRow::status() const {
    return result == nullptr ? "unavailable" : std::string(name(result->status));
}

const std::string& LadderRow::reason() const {
    return result == nullptr ? place->unavailable : result->reason;
}

std::string why_not_run(const LadderRow& row, const std::vector<LadderRow>& rows) {
    for (const auto& other : rows) {
        if (&other == &row) break;
        if (!other.ran() && other.status() == row.status() && other.reason() == row.reason())
            return "as " + other.rung->name;
    }
    return row.reason();
}

std::optional<EvalMetric> ladder_score(const std::vector<LadderRow>& rows) {
    for (const auto metric : {EvalMetric::accuracy, EvalMetric::perplexity}) {
        for (const auto& row : rows)
            if (row.score(metric)) return metric;
    }
    return std::nullopt;
}

std::string ladder_plan_text(const Ladder& ladder, const std::vector<RungPlace>& places) {
    std::string text;
    for (std::size_t at = 0; at < ladder.rungs.size(); ++at) {
        const auto& rung = ladder.rungs[at];
        const auto& place = places[at];
        const auto indent = indent_of(ladder.depth(at));
        const auto line = [&](const std::string& what) {
            if (!what.empty())
                text += indent + "  " +
                        bench::wrap(what, std::max<std::size_t>(40, 98 - indent.size()), indent + "  ") +
                        "\n";
        };
        text += "\n" + indent + rung.name + (at == 0 ? " (base)" : "") + "\n";
        line(base::joined(rung.set, " "));
        line(place.arm ? place.chosen : "unavailable: " + place.unavailable);
        if (const auto published = rung.published.text(); !published.empty()) line("published: " + published);
    }
    return text;
}

std::string ladder_text(const Ladder& ladder, const std::string& scale, const std::vector<LadderRow>& rows) {
    const auto score = ladder_score(rows);
    auto columns = columns_of(rows, score);
    std::string alike;
    std::erase_if(columns, [&](const RungColumn& column) {
        const auto cell = common_cell(column, rows);
        if (column.told_once && !cell.empty() && cell != "-")
            base::add_item(alike, column.head.title + " " + cell);
        return cell == "-" || (column.told_once && !cell.empty());
    });
    std::vector<bench::TextTable::Column> heads{{"rung", Align::left}};
    for (const auto& column : columns) heads.push_back(column.head);
    bench::TextTable table(heads);
    for (const auto& row : rows) {
        const auto name = indent_of(row.depth) + row.rung->name;
        if (!row.ran()) {
            table.row({name, row.status()});
            table.note(why_not_run(row, rows));
        } else {
            std::vector<std::string> cells{name};
            for (const auto& column : columns) cells.push_back(column.cell(row));
            table.row(cells);
        }
        if (const auto published = row.rung->published.text(); !published.empty())
            table.note("published: " + published);
    }
    return bench::wrap(ladder.heading(scale), 110, "  ") + "\n" +
           (alike.empty() ? "" : "  all rungs: " + alike + "\n") + table.render();
}

Json ladder_json(const Ladder& ladder, const std::string& scale, const std::vector<LadderRow>& rows) {
    Json rungs = Json::array();
    for (const auto& row : rows) {
        const auto& published = row.rung->published;
        const bool ran = row.ran();
        const auto ratio = [](const std::optional<bench::RatioEstimate>& estimate) {
            return estimate ? base::to_json(estimate->ratio) : Json(nullptr);
        };
        rungs.push_back({{"name", row.rung->name},
                         {"on", row.rung->on.empty() ? Json(nullptr) : Json(row.rung->on)},
                         {"set", row.rung->set},
                         {"status", row.status()},
                         {"reason", row.reason()},
                         {"samples_per_second",
                          ran ? base::number_or_null(row.result->samples_per_second) : Json(nullptr)},
                         {"over_base", ratio(row.over_base)},
                         {"over_parent", ratio(row.over_parent)},
                         {"batch", row.place->batch > 0 ? Json(row.place->batch) : Json(nullptr)},
                         {"learning_rate",
                          row.place->learning_rate > 0.0 ? Json(row.place->learning_rate) : Json(nullptr)},
                         {"start_up_ms", ran ? base::number_or_null(row.result->start_up_ms) : Json(nullptr)},
                         {"peak_memory_bytes", ran && row.result->peak_memory_bytes >= 0
                                                   ? Json(row.result->peak_memory_bytes)
                                                   : Json(nullptr)},
                         {"accuracy", maybe(row.accuracy)},
                         {"perplexity", maybe(row.perplexity)},
                         {"stable", ran && row.result->stability.stable ? Json(*row.result->stability.stable)
                                                                        : Json(nullptr)},
                         {"published",
                          {{"samples_per_second", maybe(published.samples_per_second)},
                           {"tokens_per_second", maybe(published.tokens_per_second)},
                           {"speedup", maybe(published.speedup)},
                           {"memory_gb", maybe(published.memory_gb)},
                           {"batch", published.batch ? Json(*published.batch) : Json(nullptr)},
                           {"learning_rate", maybe(published.learning_rate)}}}});
    }
    return {{"title", ladder.title},
            {"file", ladder.file},
            {"scale", scale.empty() ? Json(nullptr) : Json(scale)},
            {"rungs", rungs}};
}

}  // namespace switchyard::compare

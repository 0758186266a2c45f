#include "core/workbench/cli/job/ranks_text.h"

#include <algorithm>
#include <cmath>

#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/model/pipeline_schedule.h"

namespace switchyard::cli {
namespace {

using scale::ScalePlan;

using Align = bench::TextTable::Align;

constexpr std::size_t columns = 110;
constexpr std::size_t line_width = 60;

std::string bytes(std::int64_t count) { return base::bytes_text(static_cast<double>(count)); }
std::string percent(double share) { return base::digits(100.0 * share, 3) + " %"; }

std::string paragraph(const std::string& text) { return "  " + bench::wrap(text, columns - 2, "  ") + "\n"; }

std::string memory_text(const ScalePlan& plan) {
    const auto& memory = plan.memory;
    bench::TextTable table({{"memory of each rank", Align::left}, {""}});
    table.row({"parameters", bytes(memory.parameters)});
    table.row({"gradients", bytes(memory.gradients)});
    table.row({"optimizer's state, in float32", bytes(memory.optimizer_state)});
    table.row({"kept for backward", bytes(memory.activations)});
    if (memory.buckets > 0) table.row({"gradients as they travel", bytes(memory.buckets)});
    if (memory.gathered > 0) table.row({"whole while a layer computes", bytes(memory.gathered)});
    table.row({"all", bytes(memory.all())});
    if (plan.settings.memory_bytes > 0)
        table.note(memory.all() > plan.settings.memory_bytes
                       ? "THAT IS MORE than the " + bytes(plan.settings.memory_bytes) + " that there are"
                       : "of " + bytes(plan.settings.memory_bytes));
    return table.render("  ", columns);
}

std::string steps_text(const ScalePlan& plan) {
    bench::TextTable table(
        {{"ranks"}, {"step ms"}, {"samples/s"}, {"efficiency"}, {"sums ms"}, {"behind backward"}});
    for (const auto& step : plan.steps) {
        const double samples =
            static_cast<double>(plan.samples * step.ranks / plan.model_ranks()) / step.step_ms * 1e3;
        table.row({std::to_string(step.ranks), base::digits(step.step_ms), base::digits(samples),
                   percent(step.efficiency), base::digits(step.communication_ms),
                   step.communication_ms == 0.0 ? "-" : percent(step.hidden_share())});
    }
    return table.render("  ", columns);
}

// "....######......", where in the step something lasts.
std::string bar(double begin_ms, double end_ms, double step_ms) {
    const auto place = [&](double ms) {
        return static_cast<std::size_t>(std::clamp(ms / step_ms, 0.0, 1.0) * static_cast<double>(line_width));
    };
    std::string text(line_width, '.');
    const auto first = std::min(place(begin_ms), line_width - 1);
    const auto last = std::max(place(end_ms), first + 1);
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(first),
              text.begin() + static_cast<std::ptrdiff_t>(last), '#');
    return text;
}

std::string timeline_text(const ScalePlan& plan) {
    constexpr std::size_t most = 12;
    const auto& step = plan.asked();
    bench::TextTable table({{"one step of " + std::to_string(step.ranks) + " ranks", Align::left},
                            {"size"},
                            {"from ms"},
                            {"to ms"},
                            {"", Align::left}});
    const auto row = [&](const std::string& what, const std::string& size, double begin, double end) {
        table.row({what, size, base::digits(begin), base::digits(end), bar(begin, end, step.step_ms)});
    };
    row("forward", "", 0.0, step.forward_end_ms);
    row("backward", "", step.forward_end_ms, step.backward_end_ms);
    for (std::size_t i = 0; i < step.buckets.size(); ++i) {
        if (step.buckets.size() > most && i == most - 1 && i + 1 < step.buckets.size()) {
            table.note("and " + std::to_string(step.buckets.size() - most) + " more; the last one:");
            i = step.buckets.size() - 1;
        }
        const auto& one = step.buckets[i];
        row("sum of bucket " + std::to_string(i + 1), bytes(one.bucket.bytes), one.begin_ms, one.end_ms);
    }
    const double sums_end = step.backward_end_ms + step.exposed_ms;
    if (step.step_ms > sums_end) row("optimizer", "", sums_end, step.step_ms);
    return table.render("  ", columns);
}

std::string from_what(const ScalePlan& plan) {
    const auto& settings = plan.settings;
    if (settings.step_ms)
        return "One rank's step was told to take " + base::digits(*settings.step_ms) + " ms. ";
    return "One rank's step is worked out: " + base::digits(plan.step_flops / 1e12) + " TFLOP at " +
           base::digits(100.0 * settings.utilization, 2) + " % of what " + settings.of_rates +
           " multiplies at its best (--utilization; --step-ms tells what was measured). ";
}

std::string stages_text(const ScalePlan& plan) {
    if (plan.stages.size() == 1) return "";
    bench::TextTable table(
        {{"stage"}, {"has", Align::left}, {"parameters"}, {"micro-batches kept"}, {"memory"}, {"waits ms"}});
    std::int64_t number = 0;
    for (const auto& stage : plan.stages)
        table.row({std::to_string(number++), stage.has, bytes(stage.memory.parameters),
                   std::to_string(stage.kept), bytes(stage.memory.all()), base::digits(stage.waits_ms)});
    return table.render("  ", columns) + "\n";
}

std::string waits_of(const ScalePlan& plan) {
    std::string text;
    if (const auto stages = static_cast<std::int64_t>(plan.stages.size()); stages > 1)
        text = "Each " + std::to_string(stages) + " stages pass " + std::to_string(plan.micro_batches) +
               " micro-batches a step (train.grad_accumulation_steps) on to each other, and wait " +
               percent(plan.bubble) +
               " of forward and backward, the bubble; of stages that are equal it is " +
               percent(model::bubble_share(stages, plan.micro_batches)) + " at least. ";
    if (plan.tensor_ranks > 1)
        text += "Each " + std::to_string(plan.tensor_ranks) +
                " ranks have a part of each layer, and wait for each other's sums within layers. ";
    const double waits = plan.asked().waits_ms;
    return waits > 0.0
               ? text + "The rank that computes most waits " + base::digits(waits) + " ms a step for that. "
               : text;
}

}  // namespace

std::string ranks_text(const ScalePlan& plan) {
    const scale::Collectives collectives{plan.settings.rates.network, plan.settings.trees};
    const auto link = collectives.rings(plan.settings.ranks);
    std::string text =
        memory_text(plan) + "\n" + stages_text(plan) + steps_text(plan) + "\n" + timeline_text(plan) + "\n";
    text +=
        paragraph("Each rank sends " + std::to_string(plan.messages) + " messages a step, " +
                  base::bytes_text(plan.sent_bytes) + " in all, at " + base::digits(link.gbytes_per_second) +
                  " GB/s and " + base::digits(link.latency_us, 2) + " us a message. " + from_what(plan) +
                  waits_of(plan) +
                  "Simulated: ranks wait for nothing but sums, which slow no computation down; batch.size "
                  "is what each rank takes.");
    return text;
}

}  // namespace switchyard::cli

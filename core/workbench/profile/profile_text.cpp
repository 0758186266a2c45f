#include <algorithm>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/profile/profile_report.h"

namespace switchyard::profile {
namespace {

using bench::TextTable;
using Align = TextTable::Align;

constexpr std::size_t shown_operators = 15, shown_layers = 40, width = 110;

std::string percent_or_none(double share) { return share > 0.0 ? percent(share) : "-"; }
std::string ms_text(double ms) { return ms > 0.0 ? base::fixed(ms, ms < 9.995 ? 2 : 1) : "-"; }
std::string calls_text(double calls) { return calls > 0.0 ? base::digits(calls, 2) : "-"; }
std::string flops_text(double flops) { return flops >= 1e6 ? base::digits(flops * 1e-9) : "-"; }
std::string megabytes_text(const Cost& cost) {
    const double bytes = cost.read + cost.written;
    return bytes >= 1e3 ? base::digits(bytes * 1e-6) : "-";
}

std::string shortened(const std::string& name, std::size_t limit) {
    const auto text = base::printable(name);
    return text.size() <= limit ? text : text.substr(0, limit - 3) + "...";
}

void add_roofs(std::vector<std::string>& cells, const Line& line, const Roofs& roofs) {
    const auto shares = shares_of(line, roofs);
    for (const double share : {shares.products, shares.read, shares.copy})
        cells.push_back(percent_or_none(share));
}

std::string slots_table(const Profile& profile) {
    TextTable table({{"slot", Align::left},
                     {"share"},
                     {"ms"},
                     {"forward"},
                     {"backward"},
                     {"calls"},
                     {"GFLOP"},
                     {"MB"},
                     {"products"},
                     {"read"},
                     {"copy"}});
    for (const auto& line : profile.slots) {
        std::vector<std::string> cells{in_words_of_slot(line.name),
                                       percent(line.ms / profile.step_ms),
                                       ms_text(line.ms),
                                       ms_text(line.forward_ms),
                                       ms_text(line.backward_ms + line.again_ms),
                                       calls_text(line.calls),
                                       flops_text(line.cost.flops),
                                       megabytes_text(line.cost)};
        add_roofs(cells, line, profile.roofs);
        table.row(std::move(cells));
    }
    const double between = profile.between_ms();
    table.row({between_operators, percent(between / profile.step_ms), ms_text(between), "", "", "", "", "",
               "", "", ""});
    return table.render();
}

std::string layers_table(const Profile& profile) {
    TextTable table(
        {{"layer", Align::left}, {"share"}, {"ms"}, {"forward"}, {"backward"}, {"GFLOP"}, {"activations"}});
    std::size_t shown = 0;
    for (const auto& line : profile.layers) {
        if (++shown > shown_layers) {
            table.note(std::to_string(profile.layers.size() - shown_layers) + " more: --json");
            break;
        }
        const auto kept =
            std::ranges::find(profile.memory.layers, line.name, &std::pair<std::string, std::int64_t>::first);
        const auto bytes = kept == profile.memory.layers.end() ? 0.0 : static_cast<double>(kept->second);
        table.row({line.name.empty() ? "outside" : shortened(line.name, 40),
                   percent(line.ms / profile.step_ms), ms_text(line.ms), ms_text(line.forward_ms),
                   ms_text(line.backward_ms + line.again_ms), flops_text(line.cost.flops),
                   bytes > 0.0 ? base::bytes_text(bytes) : "-"});
    }
    return table.render();
}

std::string operators_table(const Profile& profile) {
    TextTable table({{"operator", Align::left},
                     {"in", Align::left},
                     {"share"},
                     {"ms"},
                     {"calls"},
                     {"GFLOP"},
                     {"MB"},
                     {"products"},
                     {"read"},
                     {"copy"}});
    for (std::size_t i = 0; i < std::min(shown_operators, profile.operators.size()); ++i) {
        const auto& line = profile.operators[i];
        std::vector<std::string> cells{
            shortened(line.name, 36), in_words_of_slot(line.slot), percent(line.ms / profile.step_ms),
            ms_text(line.ms),         calls_text(line.calls),      flops_text(line.cost.flops),
            megabytes_text(line.cost)};
        add_roofs(cells, line, profile.roofs);
        table.row(std::move(cells));
    }
    return table.render();
}

std::string memory_table(const Profile& profile) {
    const auto& peak = profile.memory.peak;
    const auto total = static_cast<double>(peak.total());
    TextTable table({{"memory at the peak", Align::left}, {"bytes"}, {"share"}});
    for (std::size_t i = 0; i < memory_classes; ++i) {
        if (peak.parts[i] == 0) continue;
        std::string name(memory_class_names[i]);
        std::ranges::replace(name, '_', ' ');
        table.row({name, base::bytes_text(static_cast<double>(peak.parts[i])),
                   percent(static_cast<double>(peak.parts[i]) / total)});
    }
    table.row({"all, at " + base::digits(peak.ms) + " of " + base::digits(profile.memory.step_ms) + " ms",
               base::bytes_text(total), ""});
    return table.render();
}

std::string roofs_text(const Roofs& roofs) {
    std::string text;
    for (const auto& [dtype, flops] : roofs.products)
        base::add_item(text,
                       std::string(name(dtype)) + " products " + base::digits(flops * 1e-9) + " GFLOP/s");
    base::add_item(text, "read " + base::digits(roofs.read * 1e-9) + " GB/s");
    base::add_item(text, "copy " + base::digits(roofs.copy * 1e-9) + " GB/s");
    return text;
}

std::string head(const Profile& profile, const ProfileFacts& facts) {
    const double seconds = profile.step_ms * 1e-3;
    std::string text =
        base::printable(facts.config) + ": " + base::counted(profile.steps, "step") + " of " +
        base::digits(profile.step_ms) + " ms, " + base::digits(profile.samples / seconds) + " samples/s, " +
        base::digits(profile.tokens / seconds) + " tokens/s, " +
        (profile.padding > 0.0 ? percent(profile.padding) + " of a batch is padding" : "no padding");
    std::string between;
    for (const auto& [pass, ms] : profile.between) {
        if (ms > 0.0) base::add_item(between, pass + " " + percent(ms / profile.step_ms));
    }
    const auto& overhead = profile.overhead;
    std::string cost = "observing took " + base::fixed(100.0 * overhead.median, 1) + " %";
    if (std::isfinite(overhead.low))
        cost +=
            " [" + base::fixed(100.0 * overhead.low, 1) + ", " + base::fixed(100.0 * overhead.high, 1) + "]";
    cost += " of a step: " + base::counted(static_cast<std::size_t>(profile.pairs), "pair") +
            " of steps over the same batches, one observed; " + base::digits(profile.events) +
            " events a step, of at least " + base::digits(profile.event_us, 2) + " us each";
    std::string lines;
    for (const auto& line :
         {text,
          "explained: " + base::fixed(100.0 * profile.explained, 1) +
              " % of the time, of each step at least " + base::fixed(100.0 * profile.least_explained, 1) +
              " %; between operators: " + (between.empty() ? "nothing" : between),
          cost, "roofs: " + roofs_text(profile.roofs)})
        lines += bench::wrap(line, width, "    ") + "\n";
    return lines;
}

std::string advice_text(const Profile& profile) {
    if (profile.advice.empty()) return "Nothing was found that would save a hundredth of a step.\n";
    std::string text = "What would help most (each by itself):\n";
    std::size_t number = 0;
    for (const auto& advice : profile.advice) {
        text += "  " + std::to_string(++number) + ". " + base::printable(advice.change) + "\n";
        text += "     " +
                bench::wrap(std::string(advice.measured ? "measured" : "estimated") + ": saves " +
                                percent(advice.saves) + "; " + base::printable(advice.why),
                            width - 5, "     ") +
                "\n";
    }
    return text;
}

}  // namespace

std::string percent(double share) { return base::fixed(100.0 * share, share < 0.0995 ? 1 : 0) + " %"; }

std::string in_words_of_slot(const std::string& slot) {
    if (slot == "data_loader") return "data";
    if (slot == "precision_clipping") return "precision, clipping";
    return slot == "rest" ? "the rest" : slot;
}

std::string profile_text(const Profile& profile, const ProfileFacts& facts) {
    const std::string of_roofs =
        "products, read, copy: what is reached of each roof, if all inputs were read and all outputs written "
        "once. backward counts what runs a second time.";
    return head(profile, facts) + "\nOf one step, the mean:\n\n" + slots_table(profile) + "  " +
           bench::wrap(of_roofs, width - 2, "  ") + "\n\n" + layers_table(profile) + "\n" +
           operators_table(profile) + "\n" + memory_table(profile) + "\n" + advice_text(profile);
}

}  // namespace switchyard::profile

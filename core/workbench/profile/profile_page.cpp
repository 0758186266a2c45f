#include <algorithm>
#include <array>
#include <cmath>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/profile/drawn_memory.h"
#include "core/workbench/profile/drawn_roofs.h"
#include "core/workbench/profile/profile_report.h"
#include "core/workbench/report/html_table.h"
#include "core/workbench/report/html_text.h"
#include "core/workbench/report/svg_bands.h"
#include "core/workbench/report/svg_plot.h"
#include "core/workbench/report/svg_roofline.h"

namespace switchyard::profile {
namespace {

using report::Curve;
using report::escape;
using report::HtmlTable;
using report::Hue;
using report::note;
using report::page_number;
using report::section;

constexpr std::size_t operators_of_page = 20;
constexpr double least_drawn = 0.002;  // of a step: what takes less has no mark in a plot

std::string figure(const std::string& body, const std::string& caption) {
    return "<figure>\n" + body + "<figcaption>" + escape(caption) + "</figcaption>\n</figure>\n";
}

std::string page_share(double share) { return share > 0.0 ? percent(share) : "–"; }
// A dash for what is too little to tell.
std::string told(double value) { return value >= 1e-3 ? page_number(value) : "–"; }

std::string tile(const std::string& title, const std::string& value, const std::string& detail) {
    return "<div><dt>" + escape(title) + "</dt><dd class=\"value\">" + escape(value) +
           "</dd><dd class=\"detail\">" + escape(detail) + "</dd></div>\n";
}

std::string tiles(const Profile& profile) {
    const double seconds = profile.step_ms * 1e-3;
    const auto& overhead = profile.overhead;
    std::string cost = base::counted(static_cast<std::size_t>(profile.pairs), "pair") + " of steps";
    if (std::isfinite(overhead.low))
        cost = base::fixed(100.0 * overhead.low, 1) + " to " + base::fixed(100.0 * overhead.high, 1) +
               " %, by " + cost;
    return "<dl class=\"tiles\">\n" +
           tile("A step", page_number(profile.step_ms) + " ms",
                page_number(profile.samples / seconds) + " samples/s, " +
                    page_number(profile.tokens / seconds) + " tokens/s") +
           tile("Explained", base::fixed(100.0 * profile.explained, 1) + " %",
                page_number(profile.between_ms(), 2) + " ms of a step are between operators") +
           tile("Most memory", report::bytes_text(static_cast<double>(profile.memory.peak.total())),
                "live tensors, at " + page_number(profile.memory.peak.ms) + " of " +
                    page_number(profile.memory.step_ms) + " ms") +
           tile("Observing took", base::fixed(100.0 * overhead.median, 1) + " %", cost) + "</dl>\n";
}

std::string advice_section(const Profile& profile) {
    if (profile.advice.empty()) return note("Nothing was found that would save a hundredth of a step.");
    HtmlTable table({{"Change"}, {"Saves", true}, {"Why"}});
    for (const auto& advice : profile.advice) {
        table.row({"<code>" + escape(advice.change) + "</code>", page_share(advice.saves),
                   escape((advice.measured ? "Measured: " : "Estimated: ") + advice.why)});
    }
    return table.html();
}

std::string table_of(const std::vector<Line>& lines, const std::string& title, const Profile& profile,
                     std::size_t most) {
    HtmlTable table({{title},
                     {"Share", true},
                     {"ms", true},
                     {"Forward", true},
                     {"Backward", true},
                     {"GFLOP", true},
                     {"MB", true},
                     {"Products", true},
                     {"Read", true},
                     {"Copy", true}});
    for (std::size_t i = 0; i < std::min(most, lines.size()); ++i) {
        const auto& line = lines[i];
        const auto shares = shares_of(line, profile.roofs);
        const auto bytes = line.cost.read + line.cost.written;
        table.row({escape(line.name.empty() ? "outside" : report::breakable(in_words_of_slot(line.name))),
                   page_share(line.ms / profile.step_ms), told(line.ms), told(line.forward_ms),
                   told(line.backward_ms + line.again_ms), told(line.cost.flops * 1e-9), told(bytes * 1e-6),
                   page_share(shares.products), page_share(shares.read), page_share(shares.copy)});
    }
    return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + escape(title) + "\">\n" +
           table.html() + "</div>\n";
}

Hue hue_of_slot(std::size_t index) {
    constexpr std::array hues{Hue::a, Hue::b, Hue::c, Hue::d, Hue::e, Hue::f, Hue::g, Hue::h};
    return hues[index % hues.size()];
}

// What a step is made of: its slots, and what is between operators, which the text tells, too.
std::vector<Line> parts_of_step(const Profile& profile) {
    auto parts = profile.slots;
    Line between;
    between.name = between_operators;
    between.ms = profile.between_ms();
    parts.push_back(std::move(between));
    return parts;
}

std::string slots_plot(const Profile& profile) {
    report::BarPlot plot{"Time by slot", "", "ms of a step", {}};
    std::size_t index = 0;
    for (const auto& line : parts_of_step(profile)) {
        if (line.ms < least_drawn * profile.step_ms) continue;
        const auto name = in_words_of_slot(line.name);
        const auto label = page_number(line.ms) + " ms, " + page_share(line.ms / profile.step_ms);
        plot.bars.push_back({name, label, base::Interval{line.ms, line.ms, line.ms}, hue_of_slot(index++)});
        base::add_item(plot.description, name + ": " + label, "; ");
    }
    return plot.bars.empty() ? "" : "<figure>\n" + report::bar_plot_for_all(plot) + "</figure>\n";
}

std::string roofline_section(const Profile& profile) {
    auto plot = roofline_below(profile.roofs, "Roofline of the slots");
    std::vector<Curve> curves;
    for (std::size_t i = 0; i < profile.slots.size(); ++i) {
        const auto& line = profile.slots[i];
        const double bytes = line.cost.read + line.cost.written;
        if (line.cost.flops <= 0.0 || bytes <= 0.0 || line.ms < least_drawn * profile.step_ms) continue;
        const double rate = line.cost.flops / (line.ms * 1e-3);
        const auto label = page_number(rate * 1e-9) + " GFLOP/s at " + page_number(line.cost.flops / bytes) +
                           " operations a byte, " + page_share(line.ms / profile.step_ms) + " of a step";
        const auto hue = hue_of_slot(i);
        plot.dots.push_back(
            {line.name, label, line.cost.flops / bytes, rate, line.ms / profile.step_ms, hue});
        curves.push_back({in_words_of_slot(line.name), hue, Curve::Look::points, {}});
        base::add_item(plot.description, line.name + ": " + label, "; ");
    }
    if (plot.dots.empty() || plot.ceilings.empty()) return "";
    return figure(
        report::legend(curves) + report::roofline_for_all(plot),
        "What each slot reaches, below what the machine was seen to do: " + lines_of_roofs(profile.roofs) +
            "; a larger dot takes more of the step. A slot's bytes are its inputs read once and its outputs "
            "written once; where caches serve them it may lie above the sloped lines.");
}

std::string memory_section_of(const Profile& profile) {
    const auto& memory = profile.memory;
    if (memory.line.empty()) return "";
    const auto most = static_cast<double>(memory.peak.total());
    const double unit = most >= 1e9 ? 1e9 : most >= 1e6 ? 1e6 : 1e3;
    report::Bands plot;
    plot.title = "Live memory over a step";
    plot.x_label = "ms since the step began";
    plot.y_label = unit == 1e9 ? "GB" : unit == 1e6 ? "MB" : "kB";
    plot.x_end = memory.step_ms;
    plot.line = memory.peak.ms;
    for (const auto& point : memory.line) plot.x.push_back(point.ms);
    std::vector<Curve> curves;
    HtmlTable table({{"At the peak"}, {"Bytes", true}, {"Share", true}});
    for (const auto& drawn : drawn_memory()) {
        report::Bands::Band band{drawn.name, drawn.hue, {}};
        for (const auto& point : memory.line)
            band.values.push_back(std::max(0.0, drawn.bytes_of(point.parts) / unit));
        if (std::ranges::all_of(band.values, [](double value) { return value == 0.0; })) continue;
        const double bytes = drawn.bytes_of(memory.peak.parts);
        table.row({escape(drawn.name), report::bytes_text(bytes), page_share(bytes / most)});
        base::add_item(plot.description, drawn.name + " " + report::bytes_text(bytes) + " at the peak", "; ");
        curves.push_back({drawn.name, drawn.hue, Curve::Look::points, {}});
        plot.bands.push_back(std::move(band));
    }
    table.row({"all", report::bytes_text(most), ""});
    std::string html =
        figure(report::legend(curves) + report::bands_for_all(plot),
               "Tensors that live, as the allocator counts them; the vertical line is the peak.") +
        table.html();
    if (memory.layers.empty()) return html;
    HtmlTable layers({{"Layer"}, {"Activations when they are most", true}});
    for (const auto& [layer, bytes] : memory.layers)
        layers.row({escape(layer.empty() ? "outside" : report::breakable(layer)),
                    report::bytes_text(static_cast<double>(bytes))});
    return html + layers.html();
}

std::string facts_of_page(const Profile& profile, const ProfileFacts& facts) {
    const auto row = [](const std::string& fact, const std::string& value) {
        return "<tr><th>" + escape(fact) + "</th><td>" + value + "</td></tr>\n";
    };
    const auto& schedule = profile.schedule;
    std::string roofs;
    for (const auto& [dtype, flops] : profile.roofs.products) {
        const auto of = profile.roofs.products_of.find(dtype);
        base::add_item(roofs, std::string(name(dtype)) + " products " + page_number(flops * 1e-9) +
                                  " GFLOP/s" +
                                  (of == profile.roofs.products_of.end() ? "" : " (" + of->second + ")"));
    }
    base::add_item(roofs, "read " + page_number(profile.roofs.read * 1e-9) + " GB/s");
    base::add_item(roofs, "copy " + page_number(profile.roofs.copy * 1e-9) + " GB/s");
    return "<table class=\"facts\">\n" +
           row("Configuration", "<code>" + escape(report::shortened(facts.config, 300)) + "</code>") +
           row("Host",
               escape(facts.host + ", " + base::counted(static_cast<std::size_t>(facts.threads), "thread"))) +
           row("Schedule",
               escape("wait " + std::to_string(schedule.wait) + ", warm up " +
                      std::to_string(schedule.warmup) + ", active " + std::to_string(schedule.active) +
                      ", repeated " + std::to_string(schedule.repeat) + " times")) +
           row("Roofs", escape(roofs)) +
           row("Events", escape(page_number(profile.events) + " a step, of at least " +
                                page_number(profile.event_us, 2) + " µs each")) +
           row("Command", "<code>" + escape(report::shortened(facts.command, 1500)) + "</code>") +
           "</table>\n";
}

}  // namespace

std::string profile_page(const Profile& profile, const ProfileFacts& facts) {
    std::string body = "<h1>Profile of a training step</h1>\n<p><code>" +
                       escape(report::shortened(facts.config, 300)) + "</code></p>\n" + tiles(profile);
    body += section("What would help most", advice_section(profile));
    const auto parts = parts_of_step(profile);
    body += section("Slots",
                    slots_plot(profile) + table_of(parts, "Slot", profile, parts.size()) +
                        note("Of one step, the mean. Products, read, copy: how much of each roof is reached. "
                             "Backward counts what runs a second time."));
    body += section("Roofline", roofline_section(profile));
    body += section("Memory", memory_section_of(profile));
    body += section("Layers", table_of(profile.layers, "Layer", profile, 100));
    body += section("Operators", table_of(profile.operators, "Operator", profile, operators_of_page));
    body += section("How", facts_of_page(profile, facts));
    return report::page("Profile of " + facts.config, body);
}

}  // namespace switchyard::profile

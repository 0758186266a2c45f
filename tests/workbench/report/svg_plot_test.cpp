// Ticks are round and plots draw what they are given. To add an axis: one line in the table.
#include <cmath>
#include <cstdlib>
#include <regex>

#include "core/workbench/report/svg_axis.h"
#include "core/workbench/report/svg_bands.h"
#include "core/workbench/report/svg_forest.h"
#include "core/workbench/report/svg_frame.h"
#include "core/workbench/report/svg_plot.h"
#include "core/workbench/report/svg_roofline.h"
#include "core/workbench/report/svg_timeline.h"

#include <switchyard_test.h>

#include "balanced.h"

using namespace switchyard::report;
using switchyard::test::Approx;
using switchyard::test::contains;
using switchyard::test::unbalanced;
using Labels = std::vector<std::string>;

TEST_CASE("ticks are multiples of 1, 2 or 5 times a power of ten, with as many decimals as they need") {
    CHECK(tick_labels(axis_around(0.0, 10.0, 5)) == Labels{"0", "2", "4", "6", "8", "10"});
    CHECK(tick_labels(axis_around(0.0, 0.0, 2)) == Labels{"0.0", "0.5", "1.0"});
    CHECK(tick_labels(axis_around(0.41, 0.72, 6)) ==
          Labels{"0.40", "0.45", "0.50", "0.55", "0.60", "0.65", "0.70", "0.75"});
    CHECK(tick_labels(axis_around(-0.3, 0.3, 3)) == Labels{"-0.4", "-0.2", "0.0", "0.2", "0.4"});
    CHECK(tick_labels(axis_around(0.0, 1e-4, 4)) == Labels{"0", "2e-5", "4e-5", "6e-5", "8e-5", "1e-4"});
    CHECK(tick_labels(axis_around(0.0, 1.2e-4, 6)) ==
          Labels{"0", "2e-5", "4e-5", "6e-5", "8e-5", "1e-4", "1.2e-4"});
    CHECK(tick_labels(axis_of_steps(362, 8)) == Labels{"0", "50", "100", "150", "200", "250", "300", "350"});
    CHECK(tick_labels(axis_of_steps(3, 8)) == Labels{"0", "1", "2", "3"});
    CHECK(tick_labels(axis_of_steps(25000, 5)) == Labels{"0", "5k", "10k", "15k", "20k", "25k"});
    CHECK(tick_labels(axis_of_steps(2e6, 4)) == Labels{"0", "5e5", "1e6", "1.5e6", "2e6"});
}

TEST_CASE("an axis holds its values, whatever they are") {
    for (const double low : {0.0, -1.0, 0.4999, 1e-12, 123456.0, -3e20}) {
        for (const double span : {0.0, 1e-9, 0.3, 1.0, 7.0, 1e6}) {
            for (const int count : {1, 4, 8}) {
                INFO(low << " + " << span << ", " << count << " ticks");
                const auto around = axis_around(low, low + span, count);
                CHECK(around.low <= low + around.step * 1e-5);
                CHECK(around.high >= low + span - around.step * 1e-5);
                CHECK(around.low < around.high);
                CHECK(around.ticks.size() >= 2);
                CHECK(around.ticks.size() <= 2 * static_cast<std::size_t>(count) + 3);
            }
        }
    }
}

TEST_CASE("a bar of parts is as long as they are together, and the axis holds it") {
    const Interval peak{6, 6, 6};
    const BarPlot plot{"T", "", "MB", {{"a", "6 MB", peak, Hue::a, {{"x", 1, Hue::c}, {"y", 9, Hue::d}}}}};
    const auto svg = bar_plot(plot, {800, 0, "wide"});
    CHECK(unbalanced(svg) == "");
    CHECK_THAT(svg, !contains("fill-a") && contains("<title>x</title>") && contains(">10</text>"));
    std::smatch first, second;
    const auto rect = [](const std::string& hue) {
        return std::regex(
            "<rect x=\"([0-9.]+)\" y=\"20\" width=\"([0-9.]+)\" height=\"16\" class=\"bar fill-" + hue);
    };
    REQUIRE(std::regex_search(svg, first, rect("c")));
    REQUIRE(std::regex_search(svg, second, rect("d")));
    CHECK(std::stod(second[1]) == Approx(std::stod(first[1]) + std::stod(first[2])).margin(0.11));
    CHECK(std::stod(second[2]) == Approx(9.0 * std::stod(first[2])).margin(1.0));
}

TEST_CASE("a number at the left end of an axis stays within the plot") {
    const auto ticks = axis_around(0.0, 1.0, 4);
    const auto at_edge = x_axis(ticks, {2.0, 0.0, 400.0, 50.0, ticks, ticks}, "seconds");
    CHECK_THAT(at_edge, contains("<text x=\"2\" y=\"68\" text-anchor=\"start\" class=\"tick\">0.0<"));
    CHECK_THAT(at_edge, contains("text-anchor=\"middle\" class=\"tick\">1.0<"));
    const auto inside = x_axis(ticks, {40.0, 0.0, 400.0, 50.0, ticks, ticks}, "seconds");
    CHECK_THAT(inside, !contains("text-anchor=\"start\" class=\"tick\""));
}

TEST_CASE("a curve ends in the corners of its frame") {
    const LinePlot plot{
        "T <1>", "falls", "loss", {{"a & b", Hue::a, Curve::Look::line, {{0, 1}, {10, 0}}}}, false};
    const auto svg = line_plot(plot, {400, 200, "narrow"});
    CHECK(unbalanced(svg) == "");
    // Left: 12 and three digits of 7.3; top and bottom margins 31 and 40; right: half of "10".
    CHECK_THAT(svg, contains("points=\"33.9,31 390,160\""));
    CHECK_THAT(svg, contains("aria-label=\"T &lt;1&gt;. falls\""));
    CHECK_THAT(svg, contains("<title>T &lt;1&gt;</title>\n<desc>falls</desc>"));
}

TEST_CASE("a single point is drawn as one") {
    const LinePlot plot{"T", "", "loss", {{"a", Hue::b, Curve::Look::line, {{3, 0.67}}}}, false};
    const auto svg = line_plot(plot, {400, 200, ""});
    CHECK_THAT(svg, contains("<title>a, step 3: 0.6700</title>"));
    CHECK_THAT(svg, !contains("nan"));
}

TEST_CASE("a bar is as long as its median and its whisker as its interval") {
    BarPlot plot{"T", "", "ms", {}};
    plot.bars.push_back({"slow", "100 ms", Interval{100, 80, 100}, Hue::a});
    plot.bars.push_back({"none", "not timed: <x>", std::nullopt, Hue::a});
    // Half of "100", which is 10.95 wide, stands beside the axis at both ends: 800 for 100 ms.
    const auto svg = bar_plot(plot, {821.9, 0, ""});
    CHECK(unbalanced(svg) == "");
    CHECK_THAT(svg, contains("width=\"800\""));
    CHECK_THAT(svg, contains("M651 28H810.9"));
    CHECK_THAT(svg, contains("not timed: &lt;x&gt;"));
}

TEST_CASE("shares fill the bar in proportion") {
    const auto svg = share_bar("Memory", "", {{"a", 300, Hue::a}, {"b", 100, Hue::b}});
    CHECK(unbalanced(svg) == "");
    CHECK_THAT(svg, contains("x=\"0\" y=\"0\" width=\"748\""));
    CHECK_THAT(svg, contains("x=\"750\" y=\"0\" width=\"248\""));
}

TEST_CASE("bars of a time line stand where they belong, and none leaves the plot") {
    TimeLine plot{"T", "d", "ms", {{"sum 1", "", 0.0, 50.0, Hue::b}, {"backward", "", 50.0, 100.0}}, 75.0};
    const auto svg = time_line(plot, {380.0, 0.0, "narrow"});
    CHECK(unbalanced(svg) == "");
    // Left: 10 and eight letters of 7; right: 4 and half of "100".
    CHECK_THAT(svg, contains("<rect x=\"66\" y=\"5\" width=\"149.5\""));
    CHECK_THAT(svg, contains("<rect x=\"215.5\" y=\"29\" width=\"149.5\""));
    CHECK_THAT(svg, contains("viewBox=\"0 0 380 96\""));
    plot.rows.push_back({std::string(90, 'n'), "", 100.0, 100.0});
    for (const double width : {380.0, 800.0}) {
        const auto all = time_line(plot, {width, 0.0, ""});
        for (auto at = all.find("<rect x=\""); at != std::string::npos; at = all.find("<rect x=\"", at + 1)) {
            const double x = std::strtod(all.c_str() + at + 9, nullptr);
            const double bar = std::strtod(all.c_str() + all.find("width=\"", at) + 7, nullptr);
            CHECK(bar >= 2.0);
            CHECK(x + bar <= width);
        }
        CHECK_THAT(all, !contains("class=\"name\">" + std::string(20, 'n')));
    }
    CHECK(unbalanced(time_line({"T", "d", "ms", {}, std::nullopt}, {380.0, 0.0, ""})) == "");
}

TEST_CASE("bands lie upon each other, each value up to the next") {
    Bands plot;
    plot.title = "T <1>";
    plot.x_label = "ms";
    plot.y_label = "MB";
    plot.x = {0.0, 50.0};
    plot.x_end = 100.0;
    plot.bands = {{"low", Hue::a, {10.0, 20.0}}, {"high & more", Hue::b, {30.0, 80.0}}};
    plot.line = 50.0;
    const auto svg = bands(plot, {826.6, 171.0, ""});
    CHECK(unbalanced(svg) == "");
    // From 33.9 to 815.6 over 100 ms, half of "100" beside the end; from 131 up to 31 over 100 MB.
    CHECK_THAT(svg, contains("d=\"M33.9 121H424.8V111H815.6V131H424.8V131H33.9z\""));
    CHECK_THAT(svg, contains("d=\"M33.9 91H424.8V31H815.6V111H424.8V121H33.9z\""));
    CHECK_THAT(svg, contains("high &amp; more") && contains("T &lt;1&gt;"));
    CHECK(unbalanced(bands({}, {380.0, 200.0, ""})) == "");
}

TEST_CASE("a roofline's dots lie where their operations and bytes are") {
    Roofline plot{"T", "d", {{"float32", 100e9}}, {{"copy", 10e9}}, {}};
    plot.dots = {{"on the roof", "l", 10.0, 100e9, 0.0, Hue::a}, {"below <x>", "l", 1.0, 1e9, 1.0, Hue::b}};
    // Decades 1 to 10 and 1 to 100: 742 wide from 44, 129 high from 160 up.
    const auto svg = roofline(plot, {800.0, 200.0, ""});
    CHECK(unbalanced(svg) == "");
    CHECK_THAT(svg, contains("<circle cx=\"786\" cy=\"31\""));
    CHECK_THAT(svg, contains("<circle cx=\"44\" cy=\"160\""));
    CHECK_THAT(svg, contains("below &lt;x&gt;"));
    CHECK_THAT(svg, !contains("nan") && !contains("inf"));
    CHECK(unbalanced(roofline({}, {380.0, 200.0, ""})) == "");
}

TEST_CASE("an interval of a ratio that is far wider than the medians are apart leaves the plot") {
    ForestPlot plot{"T", "", "times", 0.02, {}};
    plot.rows.push_back({"wide", "", Interval{1.02, 1e-6, 1e6}, Hue::a});
    plot.rows.push_back({"fast", "", Interval{2.0, 1.9, 2.1}, Hue::b});
    const auto svg = forest_plot_for_all(plot);
    CHECK(unbalanced(svg) == "");
    CHECK_THAT(svg, contains("l-5 5l5 5") && contains("l5 5l-5 5"));  // arrows
    CHECK_THAT(svg, contains(">2.0<") && !contains(">100<") && !contains("1,000,000"));
}

TEST_CASE("ratios at the ends of what a double holds are left out of a plot, which ends") {
    for (const double ratio : {5e-324, 1e-300, 1e300, 1.7e308}) {
        INFO(ratio);
        ForestPlot plot{"T", "", "times", 0.02, {}};
        plot.rows.push_back({"far", "", Interval{ratio, ratio, ratio}, Hue::a});
        plot.rows.push_back({"near", "", Interval{1.1, 1.0, 1.2}, Hue::b});
        const auto svg = forest_plot_for_all(plot);
        CHECK(unbalanced(svg) == "");
        CHECK_THAT(svg, !contains("inf") && !contains("nan"));
        CHECK(svg.size() < 20'000);
    }
}

TEST_CASE("numbers below a plot of ratios touch neither each other nor the edge, whatever the ratios are") {
    for (const double low : {0.003, 0.2, 0.45, 0.5, 0.62, 0.74, 0.8}) {
        for (const double high : {1.3, 1.7, 2.1, 3.4, 8.0, 60.0, 4000.0, 1.1e6}) {
            ForestPlot plot{"T", "", "times", 0.02, {}};
            plot.rows.push_back({"a", "", Interval{low, low, low}, Hue::a});
            plot.rows.push_back({"b", "", Interval{high, high, high}, Hue::b});
            const auto svg = forest_plot(plot, {380, 0, ""});
            INFO(low << " to " << high << "\n" << svg);
            const std::regex tick(
                "<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"middle\" class=\"tick\">([^<]+)<");
            double end = -100.0;
            int count = 0;
            for (std::sregex_iterator at(svg.begin(), svg.end(), tick), none; at != none; ++at, ++count) {
                const double half = 3.6 * static_cast<double>((*at)[2].length());  // 7.2 pixels a digit
                const double x = std::stod((*at)[1]);
                CHECK(x - half >= std::max(end, 0.0));
                CHECK(x + half <= 380.0);
                end = x + half;
            }
            CHECK(count >= 2);
            CHECK_THAT(svg, contains(">1.0<") || contains(">1<") || contains(">1.00<"));
        }
    }
}

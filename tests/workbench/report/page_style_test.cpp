// The contrasts that the style sheet promises, computed from its own colors as WCAG 2.2 defines contrast
// ("relative luminance").
// To add a pair: a line of `what is upon what`.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "core/workbench/report/page_style.h"

#include <switchyard_test.h>

namespace {

using Color = std::array<double, 3>;  // of 0..255

// The variables of the n-th :root block, over those of the ones before it.
std::map<std::string, std::string> variables(int blocks) {
    const std::string css(switchyard::report::page_style);
    std::map<std::string, std::string> found;
    std::size_t at = 0;
    for (int i = 0; i < blocks; ++i) {
        at = css.find(":root {", at);
        REQUIRE(at != std::string::npos);
        const auto end = css.find('}', at);
        while ((at = css.find("--", at)) < end) {
            const auto colon = css.find(':', at), semicolon = css.find(';', at);
            found[css.substr(at + 2, colon - at - 2)] = css.substr(colon + 2, semicolon - colon - 2);
            at = semicolon;
        }
        at = end;
    }
    return found;
}

Color color(const std::string& text) {
    REQUIRE(text.size() == 7);
    Color rgb{};
    for (std::size_t i = 0; i < 3; ++i) rgb[i] = std::strtol(text.substr(1 + 2 * i, 2).c_str(), nullptr, 16);
    return rgb;
}

Color laid_upon(const Color& above, const Color& below, double opacity) {
    Color mixed{};
    for (std::size_t i = 0; i < 3; ++i) mixed[i] = above[i] * opacity + below[i] * (1.0 - opacity);
    return mixed;
}

double luminance(const Color& rgb) {
    const double weights[] = {0.2126, 0.7152, 0.0722};
    double sum = 0.0;
    for (std::size_t i = 0; i < 3; ++i) {
        const double share = rgb[i] / 255.0;
        sum += weights[i] * (share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4));
    }
    return sum;
}

double contrast(const Color& a, const Color& b) {
    const double x = luminance(a), y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

}  // namespace

TEST_CASE("the measure of contrast is that of WCAG") {
    CHECK(contrast({0, 0, 0}, {255, 255, 255}) == switchyard::test::Approx(21.0));
    CHECK(contrast({119, 119, 119}, {255, 255, 255}) == switchyard::test::Approx(4.48).epsilon(0.01));
}

TEST_CASE("texts and lines stand out from what they are upon, in light and in dark") {
    for (const int blocks : {1, 2}) {
        INFO((blocks == 1 ? "light" : "dark"));
        auto css = variables(blocks);
        REQUIRE(css.size() == 18);
        const auto of = [&](const std::string& name) { return color(css.at(name)); };
        // What is upon what.
        const std::pair<const char*, const char*> texts[] = {
            {"text", "page"},  {"text", "card"}, {"text", "bad-card"}, {"muted", "page"},
            {"muted", "card"}, {"good", "page"}, {"bad", "page"}};
        for (const auto& [above, below] : texts) {
            INFO(above << " upon " << below);
            CHECK(contrast(of(above), of(below)) >= 4.5);
        }
        // The deepest shade of a confusion matrix.
        CHECK(std::string_view(switchyard::report::page_style).find(".share-10::before { opacity: .5; }") !=
              std::string_view::npos);
        CHECK(contrast(of("text"), laid_upon(of("a"), of("page"), 0.5)) >= 4.5);
        const double soft = std::strtod(css.at("soft").c_str(), nullptr);
        for (const char* hue : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
            INFO(hue);
            const auto bar = laid_upon(of(hue), of("page"), soft);
            CHECK(contrast(of(hue), of("page")) >= 3.0);
            CHECK(contrast(bar, of("page")) >= 3.0);
            CHECK(contrast(of("text"), bar) >= 3.0);
        }
    }
}

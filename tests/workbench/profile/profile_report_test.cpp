// How a profile is shown: lines that fit, a trace whose events nest, a page that tells all in words too.
#include "core/workbench/profile/profile_report.h"

#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/base/json_text.h"
#include "core/workbench/profile/summarize.h"
#include "core/workbench/report/html_text.h"
#include "made_up_step.h"

#include <switchyard_test.h>

using namespace switchyard;
using namespace switchyard::test;

namespace {

profile::Profile shown_profile() {
    const auto step = made_up_step();
    auto profile = profile::summarize({step.recording}, {{41.0, 40.0}, {42.0, 40.0}}, {36, 4e6, 3e6});
    profile.roofs.products = {{DType::float32, 5e11}, {DType::bfloat16, 1e12}};
    profile.roofs.read = 5e10;
    profile.roofs.copy = 4e10;
    profile.samples = 32;
    profile.tokens = 1000;
    profile.padding = 0.25;
    profile.memory.step_ms = 41.0;
    profile::MemoryPoint point;
    point.parts[0] = 4000000;
    profile.memory.line = {point, point};
    profile.memory.line[1].ms = 20.0;
    profile.memory.line[1].parts[4] = 1000000;
    profile.memory.peak = profile.memory.line[1];
    profile.memory.layers = {{"encoder.0", 1000000}};
    profile.advice = {{"attention.backend = \"flash/flash\"", 0.2, std::string(300, 'w') + " <b>", true}};
    return profile;
}

const profile::ProfileFacts facts{"configs/a <job>.toml", "A processor", 2, "switchyard profile"};

}  // namespace

TEST_CASE("the text is at most 110 characters wide and names what would help") {
    const auto text = profile::profile_text(shown_profile(), facts);
    CHECK_THAT(text, contains("attention.backend = \"flash/flash\"") && contains("saves 20 %"));
    CHECK_THAT(text, contains("explained: 87.8 % of the time") && contains("25 % of a batch is padding"));
    CHECK_THAT(text, contains("between operators") && contains("precision, clipping"));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.find("www") == std::string::npos) CHECK(line.size() <= 110);
    }
}

TEST_CASE("the trace is read back, and its events lie within each other") {
    const auto step = made_up_step();
    const auto profile = shown_profile();
    const auto trace = base::parse_object(
        profile::chrome_trace({step.recording}, step.recording, profile.memory), "trace.json");
    struct Span {
        double begin, end;
    };
    std::vector<Span> open;
    std::size_t complete = 0, counters = 0;
    for (const auto& event : trace.at("traceEvents")) {
        const auto& phase = event.at("ph").get_ref<const std::string&>();
        counters += phase == "C" ? 1 : 0;
        if (phase != "X") continue;
        if (++complete == step.recording.events.size() + 1) open.clear();  // the second step
        const double begin = event.at("ts").get<double>(), end = begin + event.at("dur").get<double>();
        while (!open.empty() && open.back().end <= begin + 1e-6) open.pop_back();
        if (!open.empty()) CHECK(end <= open.back().end + 1e-6);
        open.push_back({begin, end});
        CHECK_FALSE(event.at("args").at("slot").get_ref<const std::string&>().empty());
    }
    CHECK(complete == 2 * step.recording.events.size());
    CHECK(counters == 2);
}

TEST_CASE("the page shows all of it, in words too, and escapes what is foreign") {
    const auto page = profile::profile_page(shown_profile(), facts);
    CHECK(page.find("<job>") == std::string::npos);
    CHECK(page.find("w <b>") == std::string::npos);
    for (const char* what : {"What would help most", "Roofline", "Memory", "Layers", "Operators"})
        CHECK_THAT(page, contains(what));
    for (std::size_t at = 0; (at = page.find("<svg class=\"plot", at)) != std::string::npos; ++at) {
        const auto end = page.find('>', at);
        CHECK_THAT(page.substr(at, end - at), contains("aria-label="));
    }
    // Beside the slots what is between operators, as in the text: in the table and as a bar.
    CHECK_THAT(
        page, contains(report::breakable("between operators") + "</div>") && contains("between operators: "));
    CHECK_THAT(page, contains("Layer\"><div>" + report::breakable("encoder.0")));
    CHECK(page.size() < 500000);
}

TEST_CASE("the JSON has every slot") {
    const auto json = profile::profile_json(shown_profile(), facts);
    CHECK(json["slots"].size() == 10);
    CHECK(json["memory"]["peak_bytes"] == 5000000);
    CHECK(json["memory"]["parts_at_peak"]["activations"] == 1000000);
    CHECK(json["advice"][0]["measured"] == true);
}

// A configuration and its overrides, separated by 0x1c: loads, or tells problems that have a place. What
// loads is shown as a configuration that loads to the same again.
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/kernel/config/load.h"
#include "core/kernel/config/show.h"

#include "fuzz.h"

namespace {

using namespace switchyard::fuzz;
namespace config = switchyard::config;

constexpr std::size_t most_overrides = 4;

config::LoadResult load(std::string_view text, std::vector<std::string> overrides) {
    config::LoadRequest request;
    request.path = "run.toml";
    request.text = std::string(text);
    request.overrides = std::move(overrides);
    request.preset_dirs = {SWITCHYARD_FUZZ_SOURCE "/configs/presets"};
    return config::load(request);
}

std::string shown(const config::Config& loaded, bool origin) {
    std::ostringstream out;
    config::show(out, loaded, origin);
    return out.str();
}

void require_sound(const std::vector<config::Problem>& problems) {
    for (const auto& problem : problems) {
        const bool whole = problem.message.find("more problems") != std::string::npos ||
                           problem.message.find("bytes long") != std::string::npos;
        const bool override = problem.file.starts_with("--set #");
        require(!problem.file.empty() && !problem.message.empty(), "a problem says nothing");
        require(whole || problem.column >= 1, "a problem without a place", config::render(problem));
        require(whole || override || problem.line >= 1, "a problem without a line", config::render(problem));
        require_message(config::render(problem));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto parts = parts_of(text_of(data, size), 1 + most_overrides);
    std::vector<std::string> overrides;
    for (std::size_t i = 1; i < parts.size(); ++i) {
        if (!parts[i].empty()) overrides.emplace_back(parts[i]);
    }
    const auto result = load(parts[0], overrides);
    require(result.config.has_value() == result.problems.empty(), "neither a configuration nor problems");
    require_sound(result.problems);
    if (!result.config) return 0;

    const auto text = shown(*result.config, false);
    const auto again = load(text, {});
    require(again.config.has_value(), "what is shown does not load", config::render(again.problems) + text);
    require(config::canonical_text(*again.config) == config::canonical_text(*result.config),
            "what is shown loads to something else", text);
    require(load(shown(*result.config, true), {}).config.has_value(),
            "comments of origin break what is shown", text);
    (void)config::show_json(*result.config).dump();
    return 0;
}

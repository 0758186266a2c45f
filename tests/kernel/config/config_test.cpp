#include "config_test.h"

#include <sstream>
#include <stdexcept>

#include <switchyard_test.h>

namespace switchyard::test {

config::LoadResult load_text(std::string text, std::vector<std::string> overrides,
                             const config::OptionSchemas* schemas) {
    config::LoadRequest request;
    request.path = "run.toml";
    request.text = std::move(text);
    request.overrides = std::move(overrides);
    request.preset_dirs = preset_dirs();
    request.schemas = schemas;
    return config::load(request);
}

config::Config good(std::string text, std::vector<std::string> overrides,
                    const config::OptionSchemas* schemas) {
    auto result = load_text(std::move(text), std::move(overrides), schemas);
    if (!result.config) throw std::runtime_error("not loaded:\n" + config::render(result.problems));
    return std::move(*result.config);
}

std::string errors(std::string text, std::vector<std::string> overrides,
                   const config::OptionSchemas* schemas) {
    auto problems = load_text(std::move(text), std::move(overrides), schemas).problems;
    for (auto& problem : problems) problem.source.clear();
    return config::render(problems);
}

std::vector<std::string> preset_dirs() { return {(source_dir() / "configs" / "presets").string()}; }

void write_file(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace switchyard::test

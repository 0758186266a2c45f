// What the tests of the configuration share.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/config/load.h"

namespace switchyard::test {

// Loads `text` as the file "run.toml", with overrides.
config::LoadResult load_text(std::string text, std::vector<std::string> overrides = {},
                             const config::OptionSchemas* schemas = nullptr);

// The same, for a text without mistakes.
config::Config good(std::string text, std::vector<std::string> overrides = {},
                    const config::OptionSchemas* schemas = nullptr);

// What is printed about the mistakes in `text`, without the lines that show the source.
std::string errors(std::string text, std::vector<std::string> overrides = {},
                   const config::OptionSchemas* schemas = nullptr);

// The presets of the source tree.
std::vector<std::string> preset_dirs();

void write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);

}  // namespace switchyard::test

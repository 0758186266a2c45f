// Where a value came from.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard::config {

struct Origin {
    enum class Source : std::uint8_t { standard, file, preset, override };
    Source source = Source::standard;
    std::string name{};  // file: its path; preset: its name; override: "--set #2"; standard: what it was
                         // derived from, or empty
    int line = 0;        // 1-based; file and preset only; 0: none
    int column = 0;      // 1-based, in characters
};

// "run.toml:3:11", "preset gpt2:4:10", "--set #2", "default" or "default (gpt)".
std::string to_string(const Origin& origin);

}  // namespace switchyard::config

// What tests/fixtures/make_tokenizers.py wrote, and variants of its tokenizers.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"

#include <switchyard_test.h>

namespace switchyard::test {

inline std::string tokenizer_fixture(const std::string& name) {
    return source_dir().string() + "/tests/fixtures/tokenizers/" + name;
}

inline std::string bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
}

inline base::Json json_of_file(const std::string& path) {
    auto parsed = base::parse_json(bytes_of_file(path), path);
    REQUIRE(parsed.error == "");
    return std::move(parsed.value);
}

// A tokenizer.json with some of its members replaced; "model" is joined, not replaced.
inline std::string changed_tokenizer(const std::string& base, const base::Json& change) {
    auto whole = json_of_file(tokenizer_fixture(base + ".json"));
    for (const auto& [key, value] : change.items()) {
        if (key == "model")
            whole[key].update(value);
        else
            whole[key] = value;
    }
    return whole.dump();
}

// FNV-1a over numbers and text, the last 32 bits in hexadecimal, as the script has it.
inline std::string checksum_of(const std::vector<std::int64_t>& ids, const std::string& text) {
    std::uint64_t value = 0xCBF29CE484222325U;
    const auto add = [&](std::uint64_t part) { value = (value ^ part) * 0x100000001B3U; };
    for (const auto id : ids) add(static_cast<std::uint64_t>(id));
    for (const char c : text) add(static_cast<unsigned char>(c));
    std::ostringstream digits;
    digits << std::hex;
    digits.width(8);
    digits.fill('0');
    digits << (value & 0xFFFFFFFFU);
    return digits.str();
}

}  // namespace switchyard::test

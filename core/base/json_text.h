// JSON (RFC 8259) that comes from outside - files of runs, configurations of models, lines of other programs -, read with the place of what
// is wrong, and asked without throwing.
//
// All JSON is read here. Nesting is bounded before the parser sees the text, since whoever prints or destroys a value recurses.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <switchyard/base/limits.h>

namespace switchyard::base {

using Json = nlohmann::ordered_json;

struct ParsedJson {
    Json value;
    std::string error;  // "FILE:LINE:COLUMN: error: no valid JSON: ..."; empty: `value` is the text's
};

struct JsonLimits {
    std::size_t bytes = limits::json_bytes;
    std::size_t depth = limits::json_depth;
};

// `file` names the text in errors; `line` is that of its first character. Invalid UTF-8, numbers that no double holds and text behind the
// value are errors.
ParsedJson parse_json(std::string_view text, const std::string& file, std::size_t line = 1,
                      const JsonLimits& limits = {});

// The same for a text that has to be an object. Throws InputError.
Json parse_object(std::string_view text, const std::string& file, std::size_t line = 1);

// Each gives "", nothing or an empty value where the key is missing or holds something else.
const Json& member(const Json& object, const char* key);
std::string text_of(const Json& object, const char* key);
std::optional<double> number_of(const Json& object, const char* key);  // finite

// Texts as they are, numbers and flags as JSON writes them, lists with commas; "" for null and objects.
std::string shown(const Json& value);

}  // namespace switchyard::base

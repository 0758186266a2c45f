// JSON (RFC 8259) that comes from outside - files of runs, configurations of models, lines of other programs
// -, read with the place of what is wrong, and asked without throwing.
//
// All JSON is read here, and nowhere else: nesting, size and the number of values are bounded, and a name
// that stands in an object twice, invalid UTF-8, numbers that no double holds, NUL bytes and text behind the
// value are errors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/kernel/base/interval.h"
#include "core/kernel/base/limits.h"

namespace switchyard::base {

using Json = nlohmann::ordered_json;

struct ParsedJson {
    Json value;
    std::string error;        // "FILE:LINE:COLUMN: error: not valid JSON: ..."; empty: `value` is the text's
    std::string fault;        // the same for a text without a file: "not valid JSON at column 8: ..."
    std::int64_t column = 0;  // of what is wrong, in its line
};

struct JsonLimits {
    std::size_t bytes = limits::json_bytes;
    std::size_t depth = limits::json_depth;
    std::size_t values = limits::json_values;
};

// `file` names the text in errors; `line` is that of its first character.
ParsedJson parse_json(std::string_view text, const std::string& file = "", std::size_t line = 1,
                      const JsonLimits& limits = {});

// The same for a text that has to be an object. Throws InputError.
Json parse_object(std::string_view text, const std::string& file, std::size_t line = 1);

// "a list", "a text", "nothing", ...: what a value is, for messages.
std::string kind_of(const Json& value);

// Each gives "", nothing or an empty value where the key is missing or holds something else.
const Json& member(const Json& object, const char* key);
std::string text_of(const Json& object, const char* key);
std::optional<double> number_of(const Json& object, const char* key);  // finite
// Of a value itself: a whole number that 64 bits with a sign hold. (The library's own comparisons wrap what
// is larger.)
std::optional<std::int64_t> integer_of(const Json& value);

// Each throws InputError where the key is missing or holds something else: "\"step\" is a text; expected a
// whole number".
const Json& needed(const Json& object, const char* key);
const Json& needed_list(const Json& object, const char* key);
std::string needed_text(const Json& object, const char* key);
std::int64_t needed_integer(const Json& object, const char* key);
double needed_number(const Json& object, const char* key);
bool needed_flag(const Json& object, const char* key);

// null for what is not finite, for which JSON has no number.
Json number_or_null(double value);
// {"median", "low", "high"}
Json to_json(const Interval& interval);

// Texts as they are, numbers and flags as JSON writes them, lists with commas; "" for null and objects.
std::string shown(const Json& value);

}  // namespace switchyard::base

// JSON files of a run: read with the place of what is wrong, and asked without throwing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <switchyard/report/number_text.h>

namespace switchyard::report {

using Json = nlohmann::ordered_json;

// The whole file; nothing if it does not exist. InputError if it cannot be read.
std::optional<std::string> read_text(const std::string& file);

// `line` is that of the text's first character. InputError with the line and what the parser says.
Json parse_object(const std::string& text, const std::string& file, std::size_t line = 1);

// Each gives "", nothing or an empty value where the key is missing or holds something else.
const Json& member(const Json& object, const char* key);
std::string text_of(const Json& object, const char* key);
std::optional<double> number_of(const Json& object, const char* key);  // finite
std::optional<Interval> interval_of(const Json& object, const char* key);

// Texts as they are, numbers and flags as JSON writes them, lists with commas; "" for null and objects.
std::string shown(const Json& value);

}  // namespace switchyard::report

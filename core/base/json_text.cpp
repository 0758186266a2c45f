#include <switchyard/base/json_text.h>

#include <algorithm>
#include <cmath>

#include <switchyard/base/input_error.h>

namespace switchyard::base {
namespace {

// "FILE:LINE:COLUMN" of the byte at `offset`; columns count bytes from 1.
std::string place_of(std::string_view text, std::size_t offset, const std::string& file, std::size_t line) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto newline = before.rfind('\n');
    const auto column = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    line += static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
    return file + ":" + std::to_string(line) + ":" + std::to_string(column);
}

// Where the text opens more than `depth` lists and objects inside each other.
std::optional<std::size_t> too_deep(std::string_view text, std::size_t depth) {
    std::size_t open = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') ++i;
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++open > depth) return i;
        } else if ((c == ']' || c == '}') && open > 0) {
            --open;
        }
    }
    return std::nullopt;
}

// "[json.exception.parse_error.101] parse error at line 1, column 3: what" -> "what".
std::string without_prefix(const std::string& said) {
    const auto what = said.find(": ");
    if (what != std::string::npos) return said.substr(what + 2);
    const auto bracket = said.find("] ");
    return bracket == std::string::npos ? said : said.substr(bracket + 2);
}

}  // namespace

ParsedJson parse_json(std::string_view text, const std::string& file, std::size_t line,
                      const JsonLimits& limits) {
    const auto failed = [&](std::size_t offset, const std::string& what) {
        return ParsedJson{Json(), place_of(text, offset, file, line) + ": error: no valid JSON: " + what};
    };
    if (text.size() > limits.bytes)
        return {Json(), file + ": error: the JSON has " + std::to_string(text.size()) + " bytes; at most " +
                            std::to_string(limits.bytes) + " are read"};
    if (const auto offset = too_deep(text, limits.depth))
        return failed(*offset,
                      "more than " + std::to_string(limits.depth) +
                          " lists and objects inside each other; nothing that is read here nests so deep");
    try {
        return {Json::parse(text), ""};
    } catch (const Json::parse_error& error) {
        return failed(error.byte > 0 ? error.byte - 1 : 0, without_prefix(error.what()));
    } catch (const Json::exception& error) {  // a number that no double holds: the parser does not say where
        return {Json(), file + ":" + std::to_string(line) +
                            ": error: no valid JSON: " + without_prefix(error.what())};
    }
}

Json parse_object(std::string_view text, const std::string& file, std::size_t line) {
    ParsedJson parsed = parse_json(text, file, line);
    if (!parsed.error.empty()) throw InputError(parsed.error);
    if (parsed.value.is_object()) return std::move(parsed.value);
    throw InputError(file + ":" + std::to_string(line) + ": error: expected a JSON object, got " +
                     (parsed.value.is_array() ? "a list" : "a " + std::string(parsed.value.type_name())));
}

const Json& member(const Json& object, const char* key) {
    static const Json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(key);
    return found == object.end() ? nothing : *found;
}

std::string text_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    return value.is_string() ? value.get<std::string>() : "";
}

std::optional<double> number_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    if (!value.is_number() || !std::isfinite(value.get<double>())) return std::nullopt;
    return value.get<double>();
}

std::string shown(const Json& value) {
    if (value.is_null() || value.is_object()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) return value.dump();
    std::string text;
    for (const auto& entry : value) text += (text.empty() ? "" : ", ") + shown(entry);
    return text;
}

}  // namespace switchyard::base

#include "core/kernel/config/value.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace switchyard::config {
namespace {

bool is_bare(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string number_text(double value) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string text(buffer, end);
    // TOML tells a float from an integer by its point or exponent.
    if (text.find_first_of(".einf") == std::string::npos) text += ".0";
    return text;
}

template <class Items, class Text>
std::string list_text(const Items& items, Text text) {
    std::string result = "[";
    for (const auto& item : items) result += (result.size() > 1 ? ", " : "") + text(item);
    return result + "]";
}

struct ToToml {
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const { return number_text(value); }
    std::string operator()(const std::string& value) const { return toml_string(value); }
    std::string operator()(const std::vector<std::string>& value) const {
        return list_text(value, toml_string);
    }
    std::string operator()(const std::vector<double>& value) const { return list_text(value, number_text); }
};

}  // namespace

std::string to_toml(const Value& value) { return std::visit(ToToml{}, value); }

std::string toml_string(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04X",
                          static_cast<unsigned>(static_cast<unsigned char>(c)));
            result += escape;
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string key_text(std::string_view key) {
    return !key.empty() && std::all_of(key.begin(), key.end(), is_bare) ? std::string(key) : toml_string(key);
}

}  // namespace switchyard::config

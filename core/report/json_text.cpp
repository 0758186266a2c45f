#include <switchyard/report/json_text.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <switchyard/report/run_record.h>

namespace switchyard::report {

std::optional<std::string> read_text(const std::string& file) {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) return std::nullopt;
    if (std::filesystem::is_directory(file, ignored))
        throw InputError(file + ": error: is a folder; expected a file");
    std::ifstream stream(file, std::ios::binary);
    if (!stream) throw InputError(file + ": error: cannot be read: " + std::strerror(errno));
    std::string text(std::istreambuf_iterator<char>(stream), {});
    if (stream.bad()) throw InputError(file + ": error: cannot be read to its end");
    return text;
}

Json parse_object(const std::string& text, const std::string& file, std::size_t line) {
    try {
        Json value = Json::parse(text);
        if (value.is_object()) return value;
        throw InputError(file + ":" + std::to_string(line) + ": error: expected a JSON object, got " +
                         (value.is_array() ? "a list" : "a " + std::string(value.type_name())));
    } catch (const Json::parse_error& error) {
        const auto end = std::min<std::size_t>(error.byte, text.size());
        line += static_cast<std::size_t>(std::count(
            text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end > 0 ? end - 1 : 0), '\n'));
        const std::string said =
            error.what();  // "[json.exception....] parse error at line 1, column 3: what"
        const auto what = said.find(": ");
        throw InputError(file + ":" + std::to_string(line) + ": error: no valid JSON: " +
                         (what == std::string::npos ? said : said.substr(what + 2)));
    }
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

std::optional<Interval> interval_of(const Json& object, const char* key) {
    const Json& value = member(object, key);
    const auto median = value.is_number() ? number_of(object, key) : number_of(value, "median");
    if (!median) return std::nullopt;
    return Interval{*median, number_of(value, "low").value_or(*median),
                    number_of(value, "high").value_or(*median)};
}

std::string shown(const Json& value) {
    if (value.is_null() || value.is_object()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) return value.dump();
    std::string text;
    for (const auto& entry : value) text += (text.empty() ? "" : ", ") + shown(entry);
    return text;
}

}  // namespace switchyard::report

#include "core/kernel/base/json_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/printable.h"

namespace switchyard::base {
namespace {

// A text that tells how far it has been read: the library does not tell those who build values.
class Cursor {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    Cursor(const char* at, const char** read) : at_(at), read_(read) {}
    reference operator*() const { return *at_; }
    Cursor& operator++() {
        *read_ = ++at_;
        return *this;
    }
    bool operator==(const Cursor& other) const { return at_ == other.at_; }
    bool operator!=(const Cursor& other) const { return at_ != other.at_; }

private:
    const char* at_;
    const char** read_;
};

// "[json.exception.parse_error.101] parse error at line 1, column 3: what" -> "what", with what it quotes cut
// in the middle.
std::string reason_of(std::string_view said) {
    for (const std::string_view prefix : {"] ", "parse error at line "}) {
        const auto at = said.find(prefix);
        if (at == std::string_view::npos) break;
        said.remove_prefix(prefix == "] " ? at + 2 : std::min(said.size(), said.find(": ", at) + 2));
    }
    constexpr std::size_t most = limits::quoted_characters, head = most - 50;
    if (said.size() <= most) return printable(said);
    const auto inside = [&](std::size_t at) {
        return (static_cast<unsigned char>(said[at]) & 0xC0U) == 0x80U;
    };
    std::size_t first = head, last = said.size() - (most - head);
    while (first > 0 && inside(first)) --first;
    while (last < said.size() && inside(last)) ++last;
    return printable(said.substr(0, first)) + " ... " + printable(said.substr(last));
}

// Makes the value of what the parser finds; refuses what the parser would take.
class Builder : public nlohmann::json_sax<Json> {
public:
    Builder(const JsonLimits& limits, const char* begin, const char* const* read)
        : limits_(limits), begin_(begin), read_(read) {}

    bool null() override { return add(Json()) != nullptr; }
    bool boolean(bool value) override { return add(value) != nullptr; }
    bool number_integer(number_integer_t value) override { return add(value) != nullptr; }
    bool number_unsigned(number_unsigned_t value) override { return add(value) != nullptr; }
    bool number_float(number_float_t value, const string_t&) override { return add(value) != nullptr; }
    bool string(string_t& value) override { return add(std::move(value)) != nullptr; }
    bool binary(binary_t&) override { return refuse("holds binary data"); }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        if (!open_.back().names.insert(name).second)
            return refuse("'" + base::quoted(name) + "' appears twice");
        name_ = std::move(name);
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        offset = position > 0 ? position - 1 : 0;
        reason = reason_of(error.what());
        return false;
    }

    Json root;
    std::string reason;  // why it was refused
    std::size_t offset = 0;

private:
    struct Open {
        Json* value;
        std::unordered_set<std::string> names;
    };

    bool refuse(std::string why) {
        offset = static_cast<std::size_t>(*read_ - begin_) - 1;
        reason = std::move(why);
        return false;
    }
    bool open(Json value) {
        if (open_.size() == limits_.depth)
            return refuse("more than " + std::to_string(limits_.depth) +
                          " lists and objects inside each other; nothing that is read here nests so deep");
        Json* const added = add(std::move(value));
        if (added != nullptr) open_.push_back({added, {}});
        return added != nullptr;
    }
    bool close() {
        open_.pop_back();
        return true;
    }
    Json* add(Json value) {
        if (++values_ > limits_.values) {
            refuse("more than " + std::to_string(limits_.values) + " values");
            return nullptr;
        }
        if (open_.empty()) return &(root = std::move(value));
        Json& parent = *open_.back().value;
        if (parent.is_array()) return &parent.get_ref<Json::array_t&>().emplace_back(std::move(value));
        // Not through the object's own functions, which look for the name among all that stand there already.
        auto& members = parent.get_ref<Json::object_t&>();
        return &members.emplace_back(std::move(name_), std::move(value)).second;
    }

    const JsonLimits& limits_;
    const char* begin_;
    const char* const* read_;
    std::vector<Open> open_;
    std::string name_;
    std::size_t values_ = 0;
};

ParsedJson failed(std::string_view text, std::size_t offset, const std::string& reason,
                  const std::string& file, std::size_t first_line) {
    const std::string_view before = text.substr(0, std::min(offset, text.size()));
    const auto newline = before.rfind('\n');
    // Columns count bytes from 1.
    const auto number = before.size() - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    const auto column = std::to_string(number);
    const auto line =
        std::to_string(first_line + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')));
    const bool one_line = text.find('\n') >= text.size() - (text.empty() ? 0 : 1);
    ParsedJson parsed;
    parsed.error = file + ":" + line + ":" + column + ": error: not valid JSON: " + reason;
    parsed.fault =
        "not valid JSON at " + (one_line ? "" : "line " + line + ", ") + "column " + column + ": " + reason;
    parsed.column = static_cast<std::int64_t>(number);
    return parsed;
}

std::string as_it_is(const char* key, const Json& value, const char* expected) {
    return "\"" + std::string(key) + "\" is " + kind_of(value) + "; expected " + expected;
}

}  // namespace

ParsedJson parse_json(std::string_view text, const std::string& file, std::size_t line,
                      const JsonLimits& limits) {
    if (text.size() > limits.bytes) {
        const auto why = "the JSON has " + std::to_string(text.size()) + " bytes; at most " +
                         std::to_string(limits.bytes) + " are read";
        return {Json(), file + ": error: " + why, why, 1};
    }
    const char* read = text.data();
    Builder builder(limits, text.data(), &read);
    const Cursor begin(text.data(), &read), end(text.data() + text.size(), &read);
    if (!Json::sax_parse(begin, end, &builder))
        return failed(text, builder.offset, builder.reason, file, line);
    // The parser takes a NUL for the end of the text.
    if (const auto nul = text.find('\0'); nul != std::string_view::npos)
        return failed(text, nul, "a NUL byte", file, line);
    return {std::move(builder.root), "", ""};
}

Json parse_object(std::string_view text, const std::string& file, std::size_t line) {
    ParsedJson parsed = parse_json(text, file, line);
    if (!parsed.error.empty()) throw InputError(parsed.error);
    if (parsed.value.is_object()) return std::move(parsed.value);
    throw InputError(file + ":" + std::to_string(line) + ": error: expected a JSON object, got " +
                     kind_of(parsed.value));
}

std::string kind_of(const Json& value) {
    switch (value.type()) {
        case Json::value_t::object:
            return "an object";
        case Json::value_t::array:
            return "a list";
        case Json::value_t::string:
            return "a text";
        case Json::value_t::boolean:
            return "a boolean";
        case Json::value_t::null:
            return "null";
        default:
            return "the number " + value.dump();
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

std::optional<std::int64_t> integer_of(const Json& value) {
    if (!value.is_number_integer()) return std::nullopt;
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > most) return std::nullopt;
    return value.get<std::int64_t>();
}

const Json& needed(const Json& object, const char* key) {
    if (!object.is_object()) throw InputError("an object is expected, there is " + kind_of(object));
    const auto found = object.find(key);
    if (found == object.end()) throw InputError("\"" + std::string(key) + "\" is missing");
    return *found;
}

const Json& needed_list(const Json& object, const char* key) {
    const Json& value = needed(object, key);
    if (!value.is_array()) throw InputError(as_it_is(key, value, "a list"));
    return value;
}

std::string needed_text(const Json& object, const char* key) {
    const Json& value = needed(object, key);
    if (!value.is_string()) throw InputError(as_it_is(key, value, "a text"));
    return value.get<std::string>();
}

std::int64_t needed_integer(const Json& object, const char* key) {
    const Json& value = needed(object, key);
    const auto number = integer_of(value);
    if (!number) throw InputError(as_it_is(key, value, "a whole number of 64 bits"));
    return *number;
}

double needed_number(const Json& object, const char* key) {
    const Json& value = needed(object, key);
    if (!value.is_number()) throw InputError(as_it_is(key, value, "a number"));
    return value.get<double>();
}

bool needed_flag(const Json& object, const char* key) {
    const Json& value = needed(object, key);
    if (!value.is_boolean()) throw InputError(as_it_is(key, value, "true or false"));
    return value.get<bool>();
}

Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json to_json(const Interval& interval) {
    return {{"median", number_or_null(interval.median)},
            {"low", number_or_null(interval.low)},
            {"high", number_or_null(interval.high)}};
}

std::string shown(const Json& value) {
    if (value.is_null() || value.is_object()) return "";
    if (value.is_string()) return value.get<std::string>();
    if (!value.is_array()) return value.dump();
    std::string text;
    for (const auto& entry : value) add_item(text, shown(entry));
    return text;
}

}  // namespace switchyard::base

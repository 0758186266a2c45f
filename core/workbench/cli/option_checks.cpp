#include "core/workbench/cli/option_checks.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "core/kernel/base/output_target.h"
#include "core/kernel/base/printable.h"

namespace switchyard::cli {
namespace {

std::string text_of(std::int64_t value) { return std::to_string(value); }

std::string text_of(double value) {
    char text[40];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class Number>
CLI::Validator within(const std::string& what, Number low, Number high) {
    const bool bounded = high != std::numeric_limits<Number>::max();
    const auto range = bounded ? text_of(low) + " to " + text_of(high) : text_of(low) + " on";
    const auto expected = "expected " + what + " from " + (bounded ? range : text_of(low)) + ", got '";
    const auto check = [=](std::string& text) -> std::string {
        Number value{};
        const char* const end = text.data() + text.size();
        const auto parsed = std::from_chars(text.data(), end, value);
        const bool good = parsed.ec == std::errc() && parsed.ptr == end && value >= low && value <= high;
        return good ? "" : expected + base::quoted(text) + "'";
    };
    return {check, range};
}

}  // namespace

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
    return within("a whole number", low, high);
}

CLI::Validator number(double low, double high) { return within("a number", low, high); }

CLI::Validator output_file() {
    return {[](std::string& path) -> std::string {
                if (path.empty()) return "expected the name of a file";
                const auto reason = path == "-" ? "" : base::why_not_writable(path);
                return reason.empty() ? "" : "cannot write " + base::quoted(path) + ": " + reason;
            },
            ""};
}

std::string empty_value(const CLI::App& app, const std::vector<std::string>& may_be_empty) {
    for (const auto* option : app.get_options()) {
        const auto name = option->get_name();
        const bool may = option->get_expected_min() == 0 ||
                         std::find(may_be_empty.begin(), may_be_empty.end(), name) != may_be_empty.end();
        const auto& values = option->results();
        if (!may && std::find(values.begin(), values.end(), "") != values.end())
            return name + ": expected a value, got an empty text";
    }
    return "";
}

std::string wrong_count(const CLI::ParseError& error, const CLI::App& app,
                        const std::vector<std::string>& arguments) {
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
        const std::string text = error.what();
        const auto name = text.substr(0, text.find(':'));
        const auto* option = app.get_option_no_throw(name);
        if (option == nullptr) return "";
        return name + (option->count() > 1
                           ? ": is given " + std::to_string(option->count()) + " times; expected once"
                           : ": its value is missing");
    }
    if (dynamic_cast<const CLI::ConversionError*>(&error) == nullptr) return "";
    for (const auto& word : arguments) {
        const auto name = word.substr(0, word.find('='));
        const auto* option = name == word ? nullptr : app.get_option_no_throw(name);
        if (option != nullptr && option->get_expected_max() == 0)
            return name + ": takes no value, got '" + base::quoted(word.substr(name.size() + 1)) + "'";
    }
    return "";
}

}  // namespace switchyard::cli

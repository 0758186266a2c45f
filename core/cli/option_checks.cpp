#include <switchyard/cli/option_checks.h>

#include <charconv>
#include <string>

#include <switchyard/base/printable.h>

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

CLI::Validator file_name() {
    return {
        [](std::string& path) -> std::string { return path.empty() ? "expected the name of a file" : ""; },
        ""};
}

}  // namespace switchyard::cli

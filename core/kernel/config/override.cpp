#include "core/kernel/config/override.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/kernel/config/guard_text.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {
namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = std::min(text.find_first_not_of(" \t"), text.size());
    return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

bool is_bare_word(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("_./@:+~-*?").find(static_cast<char>(c)) != std::string_view::npos;
    });
}

// Only numbers, dates and times begin with a digit or a sign: the others need no parser.
bool is_toml_value(std::string_view word) {
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 || word.front() == '+' ||
        word.front() == '-')
        return parse_document("x=" + std::string(word), "").problems.empty();
    return word == "true" || word == "false" || word == "inf" || word == "nan";
}

std::string with_quoted_words(std::string_view list) {
    std::string result = "[";
    for (std::string_view rest = list.substr(1, list.size() - 2); !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto item = trimmed(rest.substr(0, comma));
        const bool word = is_bare_word(item) && !is_toml_value(item);
        result += (word ? toml_string(item) : std::string(item)) + ',';
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return result + ']';
}

std::optional<std::string> with_quotes(std::string_view value) {
    if (is_bare_word(value)) return toml_string(value);
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') return with_quoted_words(value);
    return std::nullopt;
}

Document refused(const std::string& file, const std::string& message) {
    return {{},
            {{.file = file,
              .column = 1,
              .message = message,
              .expected = "KEY=VALUE, such as optimizer.lr=3e-4"}}};
}

}  // namespace

std::string override_key(std::string_view text) {
    return std::string(trimmed(text.substr(0, std::min(text.find('='), text.size()))));
}

std::string override_text(std::string_view text) {
    return is_bare_word(text) && !is_toml_value(text) ? std::string(text) : toml_string(text);
}

Document parse_override(std::string_view text, const std::string& file) {
    if (auto problems = guard_text(text, file); !problems.empty()) return {{}, std::move(problems)};
    const auto equals = text.find('=');
    const auto key = override_key(text);
    if (equals == std::string_view::npos) return refused(file, "there is no `=`");
    if (key.empty() || key.front() == '[' || key.front() == '#')
        return refused(file, "there is no key before `=`");
    if (text.find_first_of("\r\n") != std::string_view::npos) return refused(file, "there is a line break");

    Document document = parse_document(text, file);
    if (document.problems.empty()) return document;
    const auto value = trimmed(text.substr(equals + 1));
    if (value.empty()) return refused(file, "there is no value after `=`");
    const auto begin = static_cast<std::size_t>(value.data() - text.data());
    if (const auto fixed = with_quotes(value)) {
        Document again = parse_document(std::string(text.substr(0, begin)) + *fixed, file);
        if (again.problems.empty()) return again;
    }
    const bool is_text = std::isdigit(static_cast<unsigned char>(value.front())) == 0 &&
                         std::string_view("\"'[{+-").find(value.front()) == std::string_view::npos;
    for (auto& problem : document.problems) {
        if (problem.key.empty()) problem.key = key;
        if (is_text && problem.expected.empty())
            problem.expected =
                "a text within quotation marks, such as " + key + "='...', or another value of TOML";
    }
    document.root = {};
    return document;
}

}  // namespace switchyard::config

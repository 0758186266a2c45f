#include <switchyard/config/override.h>

#include <algorithm>
#include <optional>

#include <switchyard/config/guard_text.h>
#include <switchyard/config/value.h>

namespace switchyard::config {
namespace {

constexpr char example[] = "KEY=VALUE, such as optimizer.lr=3e-4";

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_bare_word(std::string_view text) {
    const auto allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_./@:+~-").find(c) != std::string_view::npos;
    };
    return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
}

bool starts_with_letter(std::string_view text) {
    return !text.empty() && ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z'));
}

std::string with_quoted_words(std::string_view list) {
    std::string result = "[";
    for (std::string_view rest = list.substr(1, list.size() - 2); !rest.empty();) {
        const auto comma = std::min(rest.find(','), rest.size());
        const auto item = trimmed(rest.substr(0, comma));
        const bool word = starts_with_letter(item) && is_bare_word(item) && item != "true" && item != "false";
        result += (result.size() > 1 ? ", " : "") + (word ? toml_string(item) : std::string(item));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return result + ']';
}

std::optional<std::string> with_quotes(std::string_view value) {
    if (is_bare_word(value)) return toml_string(value);
    if (value.size() >= 2 && value.front() == '[' && value.back() == ']') return with_quoted_words(value);
    return std::nullopt;
}

Document refused(const std::string& file, std::string_view text, const std::string& message) {
    Document document;
    document.problems.push_back({.file = file,
                                 .column = 1,
                                 .message = message,
                                 .expected = example,
                                 .source = line_for_display(text, 1)});
    return document;
}

}  // namespace

Document parse_override(std::string_view text, const std::string& file) {
    if (auto problems = guard_text(text, file); !problems.empty()) return {{}, std::move(problems), 0};
    const auto equals = text.find('=');
    const auto key = trimmed(text.substr(0, std::min(equals, text.size())));
    if (equals == std::string_view::npos) return refused(file, text, "there is no `=`");
    if (key.empty() || key.front() == '[' || key.front() == '#')
        return refused(file, text, "there is no key before `=`");
    if (text.find_first_of("\r\n") != std::string_view::npos)
        return refused(file, text, "there is a line break");

    Document document = parse_document(text, file);
    if (document.problems.empty()) return document;
    const auto value = trimmed(text.substr(equals + 1));
    if (value.empty()) return refused(file, text, "there is no value after `=`");
    const auto begin = static_cast<std::size_t>(value.data() - text.data());
    if (const auto fixed = with_quotes(value)) {
        Document again = parse_document(std::string(text.substr(0, begin)) + *fixed, file);
        if (again.problems.empty()) return again;
    }
    document.root = {};
    for (auto& problem : document.problems) problem.line = 0;
    return document;
}

}  // namespace switchyard::config

#include "core/workbench/report/html_text.h"

#include <algorithm>

#include "core/workbench/report/page_style.h"

namespace switchyard::report {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none (RFC 3629, section 4).
std::size_t character_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    const std::size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                               : first >= 0xe0 && first <= 0xef ? 3
                               : first >= 0xf0 && first <= 0xf4 ? 4
                                                                : 0;
    if (length == 0 || text.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    const unsigned second = byte(1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
    return overlong || outside ? 0 : length;
}

std::string_view escaped_ascii(char c) {
    switch (c) {
        case '&':
            return "&amp;";
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '"':
            return "&quot;";
        case '\'':
            return "&#39;";
        default:
            return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f
                       ? replacement
                       : std::string_view();
    }
}

// The end of the last word before `cut`; `cut` itself where a word is too long to be left out.
std::size_t word_end(const std::string& text, std::size_t cut) {
    constexpr std::size_t longest_word = 30;
    const bool between_words = cut == 0 || text[cut] == ' ' || text[cut - 1] == ' ';
    const auto space = between_words ? cut : text.rfind(' ', cut);
    if (space == std::string::npos || cut - space > longest_word) return cut;
    const auto end = space == 0 ? std::string::npos : text.find_last_not_of(' ', space - 1);
    return end == std::string::npos ? cut : end + 1;
}

}  // namespace

std::string escape(std::string_view text) {
    std::string result;
    result.reserve(text.size() + text.size() / 16);
    while (!text.empty()) {
        const auto length = character_length(text);
        const auto entity = length == 1 ? escaped_ascii(text.front()) : std::string_view();
        if (length == 0)
            result += replacement;
        else if (!entity.empty())
            result += entity;
        else
            result += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(1, length));
    }
    return result;
}

std::string shortened(const std::string& text, std::size_t limit) {
    std::size_t characters = 0, cut = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if ((static_cast<unsigned char>(text[i]) & 0xc0) == 0x80) continue;
        if (characters + 1 == limit) cut = i;
        if (++characters > limit) return text.substr(0, word_end(text, cut)) + "…";
    }
    return text;
}

std::string breakable(const std::string& key) {
    std::string text;
    for (std::size_t i = 0; i < key.size(); ++i) {
        text += key[i];
        const bool within = i > 0 && i + 1 < key.size();
        if (within && (key[i] == '.' || key[i] == '_')) text += "\u200b";
    }
    return text;
}

std::string in_words(std::string_view name) {
    std::string text(name);
    std::replace(text.begin(), text.end(), '_', ' ');
    return text;
}

std::string section(const std::string& title, const std::string& body) {
    return body.empty() ? "" : "<section>\n<h2>" + escape(title) + "</h2>\n" + body + "</section>\n";
}

std::string note(const std::string& text) { return "<p class=\"muted\">" + escape(text) + "</p>\n"; }

std::string page(const std::string& title, const std::string& body, std::string_view script) {
    const auto at_end = script.empty() ? "" : "<script>\n" + std::string(script) + "</script>\n";
    return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
           "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
           "<meta name=\"color-scheme\" content=\"light dark\"/>\n<title>" +
           escape(title) + "</title>\n<style>\n" + std::string(page_style) +
           "</style>\n</head>\n<body>\n<main>\n" + body + "</main>\n" + at_end + "</body>\n</html>\n";
}

}  // namespace switchyard::report

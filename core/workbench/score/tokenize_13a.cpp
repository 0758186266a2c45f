#include "core/workbench/score/tokenize_13a.h"

#include <utility>

#include "core/workbench/score/characters.h"

namespace switchyard::score {
namespace {

// From the left, and not again in what was put there.
void replace_all(std::string& text, std::string_view what, std::string_view by) {
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
        text.replace(at, what.size(), by);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_mark(char c) { return c == '.' || c == ','; }

// All that is printable in ASCII but letters, digits, space and ' , - .
bool is_symbol(char c) {
    return (c >= '!' && c <= '&') || (c >= '(' && c <= '+') || c == '/' || (c >= ':' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

std::string with_symbols_apart(std::string_view text) {
    std::string apart;
    for (const char c : text) {
        if (is_symbol(c))
            apart.append({' ', c, ' '});
        else
            apart += c;
    }
    return apart;
}

// Pairs of neighbours, from the left and each byte in one pair only: `put` writes those that `is_pair`.
template <class IsPair, class Put>
std::string with_pairs(const std::string& text, const IsPair& is_pair, const Put& put) {
    std::string result;
    std::size_t i = 0;
    while (i < text.size()) {
        if (i + 1 < text.size() && is_pair(text[i], text[i + 1])) {
            put(result, text[i], text[i + 1]);
            i += 2;
        } else {
            result += text[i++];
        }
    }
    return result;
}

void put_second_apart(std::string& text, char first, char second) { text.append({first, ' ', second, ' '}); }
void put_first_apart(std::string& text, char first, char second) { text.append({' ', first, ' ', second}); }

}  // namespace

std::vector<std::string> tokenize_13a(std::string_view given) {
    std::string text(without_space_at_end(given));
    for (const auto& [what, by] : {std::pair{"<skipped>", ""},
                                   {"-\n", ""},
                                   {"\n", " "},
                                   {"&quot;", "\""},
                                   {"&amp;", "&"},
                                   {"&lt;", "<"},
                                   {"&gt;", ">"}})
        replace_all(text, what, by);
    text = with_symbols_apart(" " + text + " ");
    text = with_pairs(
        text, [](char a, char b) { return !is_digit(a) && is_mark(b); }, put_second_apart);
    text = with_pairs(
        text, [](char a, char b) { return is_mark(a) && !is_digit(b); }, put_first_apart);
    text = with_pairs(
        text, [](char a, char b) { return is_digit(a) && b == '-'; }, put_second_apart);
    std::vector<std::string> list;
    for (const auto word : words(text)) list.emplace_back(word);
    return list;
}

}  // namespace switchyard::score

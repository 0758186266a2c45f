#include "core/kernel/config/guard_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/kernel/base/printable.h"

namespace switchyard::config {
namespace {

// Follows strings, comments and brackets as TOML 1.0 has them. Where the text is no valid TOML, it agrees
// with the parser up to the parser's first error, which is all that a guard needs.
class Scanner {
public:
    struct Stray {
        std::size_t at;
        bool escaped;  // behind a backslash, rather than outside of strings and comments
    };

    explicit Scanner(std::string_view text) : text_(text), at_(text.starts_with("\xef\xbb\xbf") ? 3 : 0) {}

    bool done() const { return at_ >= text_.size(); }
    std::size_t at() const { return at_; }
    int depth() const { return depth_; }
    int dots() const { return dots_; }
    bool closed() const { return depth_ == 0 && quote_ == 0; }
    // The first of the characters that stray_character() means.
    const std::optional<Stray>& stray() const { return stray_; }
    // Characters beyond ASCII with which a string goes on after a backslash at a line's end.
    const std::vector<std::size_t>& continued() const { return continued_; }

    void step() {
        const char c = text_[at_];
        if (quote_ != 0) return step_in_string(c);
        if (beyond_ascii(at_)) found_stray(at_, false);
        if (c == '#') at_ = std::min(text_.find('\n', at_), text_.size());
        if ((c == '"' || c == '\'') && opens_string()) {
            quote_ = c;
            multiline_ = three(c);
        }
        if (c == '\n') dots_ = 0;
        if (c == '.') ++dots_;
        if (c != ' ' && c != '\t') last_ = c;
        follow_brackets(c);
        if (c != '#') at_ += quote_ != 0 && multiline_ ? 3 : 1;
    }

private:
    // A quote elsewhere is a mistake, and the parser, before it tells that, reads on as if it were a part of
    // the number or the name before it.
    bool opens_string() const {
        constexpr std::string_view before = "\n\r=,[{#";
        return last_ == 0 || before.find(last_) != std::string_view::npos || (last_ == '.' && !in_value_);
    }

    // In a value dots belong to numbers; in a key they stand between its parts.
    void follow_brackets(char c) {
        if (c == '[' || c == '{') ++depth_;
        const auto level = 1U << std::min(depth_, max_nesting + 1);  // deeper text is not parsed
        if (c == '{') tables_ |= level;
        if (c == '[') tables_ &= ~level;
        const bool in_table = depth_ > 0 && (tables_ & level) != 0;
        if (c == '=') in_value_ = true;
        if (c == '{' || (c == ',' && in_table) || (c == '\n' && depth_ == 0)) in_value_ = false;
        if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    }

    bool three(char quote) const { return text_.substr(at_, 3) == std::string(3, quote); }
    bool beyond_ascii(std::size_t at) const {
        return at < text_.size() && static_cast<unsigned char>(text_[at]) >= 0x80;
    }
    void found_stray(std::size_t at, bool escaped) {
        if (!stray_) stray_ = {at, escaped};
    }

    void look_behind_backslash() {
        const auto next = std::min(text_.find_first_not_of(" \t", at_ + 1), text_.size());
        if (beyond_ascii(next)) found_stray(next, true);
        if (next == text_.size() || (text_[next] != '\n' && text_[next] != '\r')) return;
        const auto goes_on = std::min(text_.find_first_not_of(" \t\r\n", next), text_.size());
        if (beyond_ascii(goes_on)) continued_.push_back(goes_on);
    }

    void step_in_string(char c) {
        if (quote_ == '"' && c == '\\') {
            if (multiline_) look_behind_backslash();
            at_ += 2;
        } else if (!multiline_ && (c == quote_ || c == '\n')) {
            quote_ = 0;  // a line's end closes it too: the parser stops there with an error
            at_ += c == '\n' ? 0 : 1;
        } else if (multiline_ && three(quote_)) {
            at_ += 3;  // up to two more quotes belong to the string
            for (int extra = 0; extra < 2 && !done() && text_[at_] == quote_; ++extra) ++at_;
            quote_ = 0;
        } else {
            ++at_;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    int depth_ = 0;
    int dots_ = 0;
    char last_ = 0;          // outside of strings, and no blank
    bool in_value_ = false;  // behind an equals sign
    unsigned tables_ = 0;    // bit i: what opened level i is an inline table
    char quote_ = 0;
    bool multiline_ = false;
    std::optional<Stray> stray_;
    std::vector<std::size_t> continued_;
};

// Length of the well-formed UTF-8 sequence that begins at `at` (RFC 3629), 0 if there is none.
std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    if (first < 0x80) return 1;
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first < 0xc0 || first >= 0xf8 || at + length > text.size()) return 0;
    unsigned code = first & (0x7fU >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[at + i]);
        if ((next & 0xc0) != 0x80) return 0;
        code = code << 6 | (next & 0x3fU);
    }
    constexpr unsigned smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code < smallest[length] || surrogate || code > 0x10ffff ? 0 : length;
}

Problem problem_at(std::string_view text, std::size_t at, const std::string& file) {
    Problem problem{.file = file, .line = 1, .column = 1};
    for (const char c : text.substr(0, at)) {
        if (c == '\n') {
            ++problem.line;
            problem.column = 1;
        } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
            ++problem.column;
        }
    }
    return problem;
}

// Expects that all of it is UTF-8.
std::string_view character_at(std::string_view text, std::size_t at) {
    return text.substr(at, utf8_length(text, at));
}

std::string escape_of(std::string_view character) {
    unsigned code = static_cast<unsigned char>(character[0]) & (0xffU >> (character.size() + 1));
    for (const char next : character.substr(1)) code = code << 6 | (static_cast<unsigned char>(next) & 0x3fU);
    char escape[16];
    std::snprintf(escape, sizeof escape, "\\U%08x", code);
    return escape;
}

Problem too_large(std::uintmax_t size, const std::string& file) {
    return {.file = file,
            .message = "is " + std::to_string(size) + " bytes long",
            .expected = "at most " + std::to_string(max_bytes) + " bytes of TOML"};
}

}  // namespace

std::vector<Problem> guard_text(std::string_view text, const std::string& file) {
    if (text.size() > max_bytes) return {too_large(text.size(), file)};
    std::vector<Problem> problems;
    const auto report = [&](std::size_t at, const std::string& message, const std::string& expected) {
        problems.push_back(problem_at(text, at, file));
        problems.back().message = message;
        problems.back().expected = expected;
    };
    if (const auto at = text.find('\0'); at != std::string_view::npos)
        report(at, "holds a NUL byte", "TOML text");
    for (std::size_t at = 0, length = 0; at < text.size(); at += length) {
        length = utf8_length(text, at);
        if (length > 0) continue;
        char byte[8];
        std::snprintf(byte, sizeof byte, "0x%02x",
                      static_cast<unsigned>(static_cast<unsigned char>(text[at])));
        report(at, "byte " + std::string(byte) + " is not valid UTF-8", "TOML text in UTF-8");
        break;
    }
    bool deep = false;
    bool dotted = false;
    for (Scanner scanner(text); !scanner.done(); scanner.step()) {
        if (!deep && scanner.depth() > max_nesting) {
            report(scanner.at() - 1, "brackets are nested too deeply",
                   "at most " + std::to_string(max_nesting) + " levels");
        }
        if (!dotted && scanner.dots() > max_dots) {
            report(scanner.at() - 1, "there are too many dots in this line",
                   "at most " + std::to_string(max_dots));
        }
        deep = deep || scanner.depth() > max_nesting;
        dotted = dotted || scanner.dots() > max_dots;
    }
    return problems;
}

std::optional<Problem> stray_character(std::string_view text, const std::string& file) {
    Scanner scanner(text);
    while (!scanner.done() && !scanner.stray()) scanner.step();
    const auto& stray = scanner.stray();
    if (!stray) return std::nullopt;
    Problem problem = problem_at(text, stray->at, file);
    const std::string character = "'" + base::printable(character_at(text, stray->at)) + "'";
    problem.message =
        character + (stray->escaped ? " follows a backslash" : " stands outside of strings and comments");
    problem.expected = stray->escaped ? "an escape such as \\n, or \\\\ for a backslash"
                                      : "ASCII there, or quotes around it";
    return problem;
}

std::string with_continuations_escaped(std::string_view text) {
    Scanner scanner(text);
    while (!scanner.done()) scanner.step();
    std::string result;
    std::size_t done = 0;
    for (const std::size_t at : scanner.continued()) {
        const auto character = character_at(text, at);
        result.append(text.substr(done, at - done)).append(escape_of(character));
        done = at + character.size();
    }
    return result.append(text.substr(done));
}

bool closed_at_end(std::string_view text) {
    Scanner scanner(text);
    while (!scanner.done()) scanner.step();
    return scanner.closed();
}

std::string_view line_of(std::string_view text, int number) {
    std::size_t begin = 0;
    for (int line = 1; line < number; ++line) {
        begin = text.find('\n', begin);
        if (begin == std::string_view::npos) return {};
        ++begin;
    }
    return text.substr(begin, text.find('\n', begin) - begin);
}

std::string line_for_display(std::string_view text, int number) {
    constexpr std::size_t widest = 160;
    auto line = line_of(text, number);
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool plain =
        std::none_of(line.begin(), line.end(), [](unsigned char c) { return c < 0x20 && c != '\t'; });
    return plain && line.size() <= widest ? std::string(line) : std::string{};
}

FileText read_guarded(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const auto status = fs::status(path, ignored);
    const auto refused = [&](const std::string& message) {
        return FileText{{}, {{.file = path, .message = message, .expected = "a TOML file"}}};
    };
    if (fs::is_directory(status)) return refused("is a folder");
    if (fs::exists(status) && !fs::is_regular_file(status)) return refused("is not a regular file");
    const auto size = fs::file_size(path, ignored);
    if (!ignored && size > max_bytes) return {{}, {too_large(size, path)}};
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string text(std::istreambuf_iterator<char>(file), {});
    if (!file) {
        return {{}, {{.file = path, .message = "cannot be read: " + std::string(std::strerror(errno))}}};
    }
    auto problems = guard_text(text, path);
    return {std::move(text), std::move(problems)};
}

}  // namespace switchyard::config

// What is checked before a text goes to the TOML parser: that it is text, and that it is not nested so deeply
// that a recursive parser runs out of stack.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/kernel/config/problem.h"

namespace switchyard::config {

inline constexpr std::size_t max_bytes = 1 << 20;  // of one file
inline constexpr int max_dots = 64;                // in a line, outside strings and comments
inline constexpr int max_nesting = 16;             // of brackets and braces

// The first problem of each kind; empty: safe to parse.
std::vector<Problem> guard_text(std::string_view text, const std::string& file);

// The first character beyond ASCII where TOML 1.0 has none: outside of strings and comments, or behind a
// backslash of a """string""". toml++ asks of such characters whether they are white space, and its 3.3
// (Debian 12) answers through __builtin_unreachable for most of them (is_non_ascii_horizontal_whitespace):
// they must not reach it. `text` is UTF-8.
std::optional<Problem> stray_character(std::string_view text, const std::string& file);

// toml++ asks the same where a """string""" goes on after a backslash at a line's end, and there TOML allows
// any character: these are written as "\U000000e9", which also keeps those that toml++ takes for white space
// and drops (U+00A0, U+3000). What follows on that line moves to the right.
std::string with_continuations_escaped(std::string_view text);

// True if neither a string nor a bracket is open after `text`.
bool closed_at_end(std::string_view text);

// Line `number` (1-based) without its end; empty where there is none.
std::string_view line_of(std::string_view text, int number);

// The same for display; empty if it is too long to show or holds control characters.
std::string line_for_display(std::string_view text, int number);

struct FileText {
    std::string text;
    std::vector<Problem> problems;  // empty: `text` has the whole file, and it has been guarded
};

// A regular file of at most max_bytes.
FileText read_guarded(const std::string& path);

}  // namespace switchyard::config

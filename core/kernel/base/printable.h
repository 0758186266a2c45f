// Foreign text on its way to a terminal: what comes from data, plugins, other programs or file names must not
// be able to move the cursor, to retitle the window or to hide text (CWE-150).
#pragma once

#include <string>
#include <string_view>

namespace switchyard::base {

// Control characters (C0, DEL, C1), characters that change the direction of text (Unicode's Bidi_Control,
// "Trojan Source", CVE-2021-42574) and bytes that are no UTF-8 written out: "\n", "\x1b", "\u202e". All else
// as it is. What JSON and TOML allow raw in their strings is written as they write it, so that they stay what
// they are.
std::string printable(std::string_view text);

// The same, but newlines and tabs stay: for text of several lines.
std::string printable_lines(std::string_view text);

// printable(text), cut to limits::quoted_characters; "... (N characters)" then says how long the whole is.
std::string quoted(std::string_view text);

// How many columns of a terminal a text takes: wide and combining characters as Unicode says.
std::size_t columns_of(std::string_view text);

}  // namespace switchyard::base

// Words of a command, written so that a POSIX shell reads them back.
#pragma once

#include <string>
#include <string_view>

#include "core/kernel/base/printable.h"

namespace switchyard::base {

// As it is where no shell takes any of it for more than a letter, else in single quotes.
inline std::string shell_word(std::string_view word) {
    constexpr std::string_view plain =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./=:,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string quoted = "'";
    for (const char c : word) {
        if (c == '\'')
            quoted += "'\\''";
        else
            quoted += c;
    }
    return quoted + "'";
}

// The same to be shown: nothing in it steers a terminal.
inline std::string printable_word(std::string_view word) { return printable(shell_word(word)); }

}  // namespace switchyard::base

// Texts as characters and words. A character is a code point; bytes that are no UTF-8 count as one each.
#pragma once

#include <string_view>
#include <vector>

namespace switchyard::score {

std::vector<std::string_view> characters(std::string_view text);

// What stands between white space, as Python's str.split() takes it: White_Space of Unicode, and the
// separators of ASCII (0x1C to 0x1F).
std::vector<std::string_view> words(std::string_view text);

// Without white space at the end.
std::string_view without_space_at_end(std::string_view text);

}  // namespace switchyard::score

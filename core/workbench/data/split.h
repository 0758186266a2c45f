// Splits by content: which split a text belongs to follows from the text alone, so no text is in two splits,
// whatever the order, the number or the files of the rows.
#pragma once

#include <string_view>

namespace switchyard::data {

// A number in [0, 1) from the text's XXH3 hash; texts that differ only in white space or in ASCII case count
// as equal. The text belongs to a held-out share s if it is below s.
double split_position(std::string_view text);

}  // namespace switchyard::data

// The words of a text for BLEU: tokenization "13a", that of NIST's mteval-v13a.pl, as sacreBLEU has it (Post
// 2018, "A Call for Clarity in Reporting BLEU Scores", WMT): symbols of ASCII stand alone, apostrophes do
// not, period and comma stay inside numbers, and a hyphen is taken off after a digit only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard::score {

std::vector<std::string> tokenize_13a(std::string_view text);

}  // namespace switchyard::score

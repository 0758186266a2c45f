// Steps 1 to 3 of wordpiece.h: from raw text to words.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace switchyard::data {

// Calls `word` for each word in order; the view is valid during the call only.
void for_each_bert_word(std::string_view text, bool lower_case,
                        const std::function<void(std::string_view word)>& word);

}  // namespace switchyard::data

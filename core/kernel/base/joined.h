// Many texts as one: "a, b, c".
#pragma once

#include <string>
#include <string_view>

namespace switchyard::base {

// Appends `item` to a list that is being written.
inline void add_item(std::string& list, std::string_view item, std::string_view between = ", ") {
    if (!list.empty()) list += between;
    list += item;
}

// Appends a clause to a sentence, where there is one: "; others took the processor".
inline void add_clause(std::string& sentence, std::string_view clause) {
    if (!clause.empty()) add_item(sentence, clause, "; ");
}

template <class Words>
std::string joined(const Words& words, std::string_view between = ", ") {
    std::string list;
    for (const auto& word : words) add_item(list, word, between);
    return list;
}

}  // namespace switchyard::base

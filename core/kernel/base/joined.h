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

template <class Words>
std::string joined(const Words& words, std::string_view between = ", ") {
    std::string list;
    for (const auto& word : words) add_item(list, word, between);
    return list;
}

}  // namespace switchyard::base

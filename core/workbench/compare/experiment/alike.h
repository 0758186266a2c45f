// What several arms have alike, such as the reason why they failed: told once, with all their names.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace switchyard::compare {

struct Alike {
    std::string text;
    std::vector<std::string> names;
};

// In the order in which each text first came.
inline void add_alike(std::vector<Alike>& all, const std::string& name, const std::string& text) {
    auto known = std::ranges::find(all, text, &Alike::text);
    if (known == all.end()) known = all.insert(all.end(), {text, {}});
    known->names.push_back(name);
}

}  // namespace switchyard::compare

#include "core/workbench/data/split.h"

#include <string>

#include <xxhash.h>

namespace switchyard::data {

double split_position(std::string_view text) {
    std::string normal;
    normal.reserve(text.size());
    for (const char c : text) {
        const bool space = c == ' ' || (c >= '\t' && c <= '\r');
        if (!space)
            normal += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
        else if (!normal.empty() && normal.back() != ' ')
            normal += ' ';
    }
    if (!normal.empty() && normal.back() == ' ') normal.pop_back();
    return static_cast<double>(XXH3_64bits(normal.data(), normal.size()) >> 11) * 0x1.0p-53;
}

}  // namespace switchyard::data

// JSON on the border of how deep it may nest.
#pragma once

#include <string>

#include "core/kernel/base/limits.h"

namespace switchyard::test {

// An object's text with a first key more, "more", whose value nests so far that the whole is `beyond` levels
// deeper than JSON may be: 0 is taken, 1 is not.
inline std::string nested(const std::string& object, std::size_t beyond) {
    const auto lists = base::limits::json_depth - 1 + beyond;
    const auto first = object.find('{') + 1;
    const bool empty = object.find_first_not_of(" \n", first) == object.find('}', first);
    return object.substr(0, first) + "\"more\": " + std::string(lists, '[') + std::string(lists, ']') +
           (empty ? "" : ", ") + object.substr(first);
}

}  // namespace switchyard::test

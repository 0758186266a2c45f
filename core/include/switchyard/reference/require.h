// What is asked of arguments by the references and by what checks calls of components.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string_view>

namespace switchyard::reference {

// Throws std::invalid_argument with "<what>: " and the parts as one text.
template <class... Parts>
void require(std::string_view what, bool condition, const Parts&... parts) {
    if (condition) return;
    std::ostringstream text;
    text << what << ": ";
    (text << ... << parts);
    throw std::invalid_argument(text.str());
}

}  // namespace switchyard::reference

#include "core/kernel/base/next_line.h"

namespace switchyard::base {

Line next_line(std::streambuf& text, std::string& line, std::size_t most) {
    constexpr auto end = std::char_traits<char>::eof();
    line.clear();
    auto c = text.sbumpc();
    if (c == end) return Line::none;
    auto read = Line::whole;
    for (; c != end && c != '\n'; c = text.sbumpc()) {
        if (line.size() < most)
            line += static_cast<char>(c);
        else if (c != '\r' || text.sgetc() != '\n')
            read = Line::too_long;
    }
    if (!line.empty() && line.back() == '\r') line.pop_back();
    return read;
}

}  // namespace switchyard::base

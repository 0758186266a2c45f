// Lines of a text, one after another, of which no more is kept than a limit.
#pragma once

#include <cstddef>
#include <streambuf>
#include <string>

#include "core/kernel/base/limits.h"

namespace switchyard::base {

enum class Line {
    whole,
    too_long,  // `line` holds its beginning, the rest has been passed over
    none       // the text has ended
};

// Without its end, "\n" or "\r\n". Throws what the buffer throws.
Line next_line(std::streambuf& text, std::string& line, std::size_t most = limits::line_bytes);

}  // namespace switchyard::base

// A whole file as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "core/kernel/base/limits.h"

namespace switchyard::base {

// Nothing if it does not exist. Throws InputError ("FILE: error: ...") for a folder, a FIFO that nobody may
// ever write to, what cannot be read and what has more bytes than `most`, of which no more are read.
std::optional<std::string> read_text(const std::string& file, std::size_t most = limits::file_bytes);

// The same of what is only remembered: a file that cannot be read is as good as not there. "" then.
std::string text_if_readable(const std::string& file, std::size_t most = limits::file_bytes);

}  // namespace switchyard::base

// A whole file as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <switchyard/base/limits.h>

namespace switchyard::base {

// Nothing if it does not exist. Throws InputError ("FILE: error: ...") for a folder, for what cannot be read and for what has more bytes
// than `most`, of which no more are read.
std::optional<std::string> read_text(const std::string& file, std::size_t most = limits::file_bytes);

}  // namespace switchyard::base

// A whole file as text.
#pragma once

#include <optional>
#include <string>

namespace switchyard::base {

// Nothing if it does not exist. Throws InputError ("FILE: error: ...") for a folder and for what cannot be read.
std::optional<std::string> read_text(const std::string& file);

}  // namespace switchyard::base

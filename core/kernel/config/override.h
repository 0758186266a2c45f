// `--set KEY=VALUE`: VALUE is a TOML value; a word that is none is taken as a string, and so are words in a
// list.
#pragma once

#include <string>
#include <string_view>

#include "core/kernel/config/document.h"

namespace switchyard::config {

// "attention.backend=[flash, chunked]" as a document of one value. Places are columns of `text`.
Document parse_override(std::string_view text, const std::string& file);

// "attention.backend" of the same.
std::string override_key(std::string_view text);

// `text` as the VALUE of one, so that it is read back as this text.
std::string override_text(std::string_view text);

}  // namespace switchyard::config

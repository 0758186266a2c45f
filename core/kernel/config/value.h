// A value between its text and the typed structs.
#pragma once

#include <string>
#include <string_view>

#include <switchyard/interfaces/options.h>

namespace switchyard::config {

using Value = OptionValue;

// As TOML text that reads back to the same value: `3`, `1e-05`, `"naive"`, `["flash", "chunked"]`.
std::string to_toml(const Value& value);

// `text` as a TOML basic string, quoted and escaped; as a key: bare where that is possible.
std::string toml_string(std::string_view text);
std::string key_text(std::string_view key);

}  // namespace switchyard::config

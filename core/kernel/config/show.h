// `switchyard config show`: a loaded configuration as TOML that loads to the same again, and as a text to
// compare by.
#pragma once

#include <iosfwd>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/config/config.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

nlohmann::json value_json(const Value& value);

// Every value; with `origin` each with a comment that says where it came from.
void show(std::ostream& out, const Config& config, bool origin);

// {"values": {key: {"value", "origin"}}, "layers": [{"match", "origin", "values": {key: ...}}]}
nlohmann::json show_json(const Config& config);

// All effective values by key as TOML, the [[layer]] rules as one text under "layer"; without options of
// components that nobody wrote.
std::map<std::string, std::string> canonical_values(const Config& config);

// All effective values as sorted `key = value` lines, the [[layer]] rules after them in their order; options
// of components only where somebody wrote them, so that installing a plugin changes no configuration. Equal
// texts: equal configurations.
std::string canonical_text(const Config& config);

// XXH3-64 of the canonical text, 16 hexadecimal digits: names a configuration in records.
std::string fingerprint(const Config& config);

}  // namespace switchyard::config

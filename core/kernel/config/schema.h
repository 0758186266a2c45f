// `switchyard config schema`: every key with type, default, range and meaning, made from the tables.
#pragma once

#include <iosfwd>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/config/load.h"

namespace switchyard::config {

// For a terminal. With `schemas` the options of the components that are there as well.
void write_schema(std::ostream& out, const OptionSchemas* schemas = nullptr);
// docs/config.md.
void write_schema_markdown(std::ostream& out);
// [{"key", "type", "default", "derived", "usual", "min", "max", "choices", "per_layer", "help"}, ...];
// `derived`: what the default is taken from; `usual`: the defaults by model type; absent where they do not
// apply.
nlohmann::json schema_json(const OptionSchemas* schemas = nullptr);

}  // namespace switchyard::config

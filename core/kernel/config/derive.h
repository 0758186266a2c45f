// From assignments to a whole Config: defaults, values that follow from others, rules per layer, and what
// several keys must agree on.
#pragma once

#include "core/kernel/config/config.h"
#include "core/kernel/config/load.h"
#include "core/kernel/config/reader.h"

namespace switchyard::config {

// Adds to `reading.problems` what is wrong with values together; says nothing about keys in
// `reading.doubtful`, nor, where `complete` is false (a text could not be read to its end), about anything.
Config derive(Reading& reading, const OptionSchemas* schemas, bool complete);

// Puts one value into its place.
void apply(Config& config, const Assignment& assignment);

}  // namespace switchyard::config

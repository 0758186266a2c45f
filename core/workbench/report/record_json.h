// JSON as records of runs and comparisons are read from it.
#pragma once

#include <optional>

#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/report/number_text.h"

namespace switchyard::report {

using base::Json;
using base::member;
using base::number_of;
using base::parse_object;
using base::read_text;
using base::shown;
using base::text_of;

// A number, or an object with median, low and high; nothing where the key is missing or holds something else.
std::optional<Interval> interval_of(const Json& object, const char* key);

}  // namespace switchyard::report

// Every key of a [[data.source]], once, as table.h has those of the sections.
#pragma once

#include <string_view>
#include <vector>

#include "core/kernel/config/list_table.h"
#include "core/kernel/config/source_config.h"

namespace switchyard::config {

using SourceField = ItemField<SourceConfig>;

inline constexpr std::string_view source_path = "data.source";
inline constexpr std::string_view source_help =
    "Instead of data.train: sources that training samples are drawn from by weight. May stand several times.";

// In the order in which they are shown.
const std::vector<SourceField>& source_fields();

}  // namespace switchyard::config

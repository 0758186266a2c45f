// Every key of a [[group]], once.
#pragma once

#include <string_view>
#include <vector>

#include "core/kernel/config/group_config.h"
#include "core/kernel/config/list_table.h"

namespace switchyard::config {

using GroupField = ItemField<GroupConfig>;

inline constexpr std::string_view group_path = "group";
inline constexpr std::string_view group_help =
    "Parameters that are trained in a way of their own. May stand several times; of those that match a "
    "parameter the "
    "last one holds.";

// In the order in which they are shown.
const std::vector<GroupField>& group_fields();

}  // namespace switchyard::config

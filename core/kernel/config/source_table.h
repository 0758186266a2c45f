// Every key of a [[data.source]], once, as table.h has those of the sections.
#pragma once

#include <string_view>
#include <vector>

#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/source_config.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

struct SourceField : ValueSpec {  // its key is the name in the table: "weight"
    bool path = false;            // names files, relative to the file that it is written in
    Value (*get)(const SourceConfig&) = nullptr;
    void (*set)(SourceConfig&, const Value&) = nullptr;
};

inline constexpr std::string_view source_path = "data.source";
inline constexpr std::string_view source_help =
    "Instead of data.train: sources that training samples are drawn from by weight. May stand several times.";

// In the order in which they are shown.
const std::vector<SourceField>& source_fields();

}  // namespace switchyard::config

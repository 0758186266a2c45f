// Which column of a table is likely to hold the texts, and which the labels or the answers: by the names that
// people give, else by the values.
//
// Each function gives nullptr where it finds none.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/data/table_facts.h"

namespace switchyard::data {

using Columns = std::vector<ColumnFacts>;

const ColumnFacts* named_as_text(const Columns& columns);
const ColumnFacts* named_as_label(const Columns& columns);
const ColumnFacts* named_as_source(const Columns& columns);  // of a text with an answer
const ColumnFacts* named_as_target(const Columns& columns);
std::pair<const ColumnFacts*, const ColumnFacts*> named_as_pair(const Columns& columns);

inline constexpr std::size_t most_classes = 50;  // more different values are no classes by themselves
bool is_classes(const ColumnFacts& column);

// The character that is between several labels of a row, if the values look like that: "," of "a,b" and "b".
char label_separator(const ColumnFacts& column);  // 0: they do not

// By its name, else the last one of classes: tables end with the answer. `texts`: columns that it is not.
const ColumnFacts* likely_label(const Columns& columns, const std::vector<std::string>& texts);

// By its name, else the one of the longest values that are no numbers. `label`: the column that it is not.
const ColumnFacts* likely_text(const Columns& columns, const ColumnFacts* label);

}  // namespace switchyard::data

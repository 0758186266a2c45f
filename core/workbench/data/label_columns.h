// The labels of a row of text, as a task has them: the number of a class, numbers to predict, or for each
// class whether it belongs to the text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/kernel/config/metric_names.h"

namespace switchyard::data {

struct RowLabels {
    std::int64_t number = 0;                      // of a class
    std::vector<double> values;                   // of tasks with float labels; NaN: none
    std::string fault;                            // why they cannot be used; empty: they can
    std::size_t column = 0;                       // in which of the columns that is
    config::BadRow rule = config::BadRow::error;  // what becomes of the row then
};

// The columns that hold them; none of a task without labels in rows.
std::vector<std::string> label_columns(const config::Config& config);

using config::label_names;

// `texts`: of label_columns, in that order. `columns`: where they really stand, if not there: a source may
// have a column of its own.
RowLabels labels_of(const config::Config& config, std::span<const std::string> texts,
                    std::span<const std::string> columns = {});

}  // namespace switchyard::data

// Labels of classes, as rows name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace switchyard::data {

// A label is the name of a class, or else its number, unless names are whole numbers themselves: a stray one
// would count as another class.
std::optional<std::int64_t> label_number(const std::vector<std::string>& labels, const std::string& label);

// "label 'maybe' is none of 'no', 'yes' (task.labels)"
std::string unknown_label(const std::vector<std::string>& labels, const std::string& label);

// "'no', 'yes'", and how many more there are.
std::string quoted_list(const std::vector<std::string>& names);

}  // namespace switchyard::data

// Names of tensors by patterns: beginnings of names, '#' standing for a layer's number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace switchyard::model {

// Replaces the beginning `from` of `name` by `to`, carrying the layer's number over; nothing: it begins
// otherwise.
std::optional<std::string> translated_name(std::string_view name, std::string_view from, std::string_view to);

}  // namespace switchyard::model

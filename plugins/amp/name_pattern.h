// Layers by name: which ones a policy leaves alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace switchyard {

// Whether one of `patterns` (* any text, ? any character) is `name`, or what `name` stands below: "encoder.0" is "encoder.0.attention.q" too.
bool matches_any(const std::vector<std::string>& patterns, std::string_view name);

}  // namespace switchyard

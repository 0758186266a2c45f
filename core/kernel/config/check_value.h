// One value against what its key may be.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/types.h>
#include "core/kernel/config/document.h"
#include "core/kernel/config/table.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

// "integer", "list of strings", ...
std::string_view type_name(Type type);
// "integer >= 1 and <= 1000", "one of pre, post"
std::string short_text(const Shape& shape);
// The same as the end of a sentence: "an integer >= 1", `one of "pre", "post"`.
std::string expected_text(const Shape& shape);

// Told of each mistake: the value (or member of a list) in question, its key, what was expected, what may
// have been meant.
using Complain = std::function<void(const Node&, const std::string& key, const std::string& expected,
                                    const std::string& hint)>;

bool in_range(const Limits& limits, double value);
// The value in the type that `shape` asks for, or nothing after at least one complaint.
std::optional<Value> check_value(const Shape& shape, const Node& node, const std::string& key,
                                 const Complain& complain);

// What the manifest of a plugin declares, as a shape. The result refers to `spec`.
Shape shape_of(const OptionSpec& spec);
// What can be taken without a manifest: as it was written, lists of strings only.
Shape shape_of(const Node& node);

// What the options of a component are where nobody gives them.
Options default_options(const OptionSchema& schema);

OptionValue to_option(const Value& value);
Value from_option(const OptionValue& value);

}  // namespace switchyard::config

namespace switchyard {
// As plugin.toml and manifests write them.
template <>
inline constexpr std::array<std::string_view, 5> names<OptionType>{"boolean", "integer", "number", "string",
                                                                   "list"};
}  // namespace switchyard

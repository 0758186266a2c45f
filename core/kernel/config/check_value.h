// One value against what its key may be.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <switchyard/interfaces/value_spec.h>
#include "core/kernel/config/document.h"
#include "core/kernel/config/value.h"

namespace switchyard::config {

// "integer", "list of strings", ...
std::string_view type_name(const ValueSpec& spec);
// "integer >= 1 and <= 1000", "one of pre, post"
std::string short_text(const ValueSpec& spec);
// The same as the end of a sentence: "an integer >= 1", `one of "pre", "post"`.
std::string expected_text(const ValueSpec& spec);
// Of a choice that is a switch or "auto": the words that are written as booleans.
constexpr bool is_switch_word(std::string_view word) { return word == "true" || word == "false"; }

// Told of each mistake: the value (or member of a list) in question, its key, what was expected, what may
// have been meant.
using Complain = std::function<void(const Node&, const std::string& key, const std::string& expected,
                                    const std::string& hint)>;

bool in_range(const ValueLimits& limits, double value);
// The value in the type that `spec` asks for, or nothing after at least one complaint.
std::optional<Value> check_value(const ValueSpec& spec, const Node& node, const std::string& key,
                                 const Complain& complain);

// What can be taken without a manifest: as it was written, lists of strings only.
ValueSpec spec_as_written(const Node& node);

// What the options of a component are where nobody gives them.
Options default_options(const OptionSchema& schema);

}  // namespace switchyard::config

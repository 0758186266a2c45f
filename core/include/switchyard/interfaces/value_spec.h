// What a value may be and what it is for: an option that a component declares in its plugin.toml, or a key of
// the configuration. Both are checked, shown and written as a schema by the same code.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/options.h>
#include <switchyard/interfaces/types.h>

namespace switchyard {

// A list is one of strings. `numbers` (a list of numbers) and `backend` ("[plugin/]component[@variant]", or a
// list of such) are for keys of the configuration only: plugin.toml has no names for them.
enum class ValueType : std::uint8_t { boolean, integer, number, string, list, numbers, backend };

template <>
inline constexpr std::array<std::string_view, 5> names<ValueType>{"boolean", "integer", "number", "string",
                                                                  "list"};

struct ValueLimits {
    std::optional<double> min{};  // of an integer, a number, or the members of a list of numbers
    std::optional<double> max{};
    bool above_min = false;  // the bound itself is not allowed
    bool below_max = false;
    std::size_t length = 0;  // of a list; 0: any
    bool not_empty = false;  // a list has at least one member
    std::vector<std::string>
        choices{};  // of a string, or of the members of a list, each once; of an integer: words in its place
    bool custom = false;  // of a string with choices: "custom:NAME" is one more (types.h)
};

struct ValueSpec {
    std::string key{};  // "chunk_size"; of the configuration: "model.layers"
    ValueType type = ValueType::string;
    OptionValue default_value{};
    ValueLimits limits{};
    std::string help{};
};

using OptionSchema = std::vector<ValueSpec>;

}  // namespace switchyard

// A value of a GGUF file's metadata. Texts point into the file, which outlives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace switchyard::gguf {

enum class ValueType : std::uint32_t {
    uint8 = 0,
    int8,
    uint16,
    int16,
    uint32,
    int32,
    float32,
    boolean,
    text,
    list,
    uint64,
    int64,
    float64
};

struct Value;
struct List {
    ValueType of = ValueType::uint8;
    std::vector<Value> items;
};

struct Value {
    ValueType type = ValueType::uint8;
    // Whole numbers of every width, but those above what 64 bits with a sign hold, which are double.
    std::variant<std::int64_t, double, bool, std::string_view, List> held;
};

// "a text", "a list of 3", "7": for messages; foreign text in it is printable.
std::string shown(const Value& value);

}  // namespace switchyard::gguf

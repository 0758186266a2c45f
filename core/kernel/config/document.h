// A parsed TOML text as a plain tree with places; keeps the parser's library out of everything else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/kernel/config/problem.h"

namespace switchyard::config {

struct Place {
    int line = 0;    // 1-based
    int column = 0;  // 1-based, in characters
    auto operator<=>(const Place&) const = default;
};

struct Node {
    enum class Kind : std::uint8_t { boolean, integer, number, string, date_time, array, table };
    Kind kind = Kind::table;
    std::variant<std::monostate, bool, std::int64_t, double, std::string> scalar;
    std::vector<Node> children;  // of an array in order; of a table in the order of their places
    Place place;                 // of the value
    std::string name;            // the key, in a table
    Place name_place;
};

// What came, for messages: `the string "six"`, `the integer 3`, `a table`.
std::string describe(const Node& node);

struct Document {
    Node root;
    std::vector<Problem> problems;  // what the parser rejects; then `root` holds what can still be relied on
};

// `text` must have passed guard_text. After a syntax error the line is left out and the rest is read again,
// as far as that makes sense.
Document parse_document(std::string_view text, const std::string& file);

}  // namespace switchyard::config

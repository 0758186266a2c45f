// Where in its file a part of a row stands. Rows are read without noting it; what is wrong with one is looked
// up in the row's text, while that is there.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <switchyard/interfaces/types.h>

namespace switchyard::data {

enum class RowFormat : std::uint8_t { text, tsv, csv, jsonl, tab, parquet };

// Both from 1; columns are counted in bytes. Of Parquet: the numbers of the row and of the column.
struct RowPlace {
    std::int64_t line = 1;
    std::int64_t column = 1;
};
std::string to_string(const RowPlace& place);  // "3:17"

// A row as its file has it.
struct RowText {
    RowFormat format = RowFormat::text;
    std::string_view text;                // its lines, joined with line ends; empty: the value is the row
    std::span<const std::size_t> fields;  // tables and Parquet: the number of each value's column
    std::span<const std::string> keys;    // jsonl: of each value
};

// Of byte `byte` of the value `value`, which holds `content`; the row begins in line `line`. Of a value in
// JSON: where the value begins.
RowPlace place_in(const RowText& row, std::int64_t line, std::size_t value, std::string_view content,
                  std::size_t byte);

}  // namespace switchyard::data

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 6> names<data::RowFormat>{"text",  "tsv", "csv",
                                                                        "jsonl", "tab", "parquet"};
}  // namespace switchyard

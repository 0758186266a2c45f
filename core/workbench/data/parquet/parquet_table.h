// A table in a Parquet file, read row by row. What does it is a library of its own, which is loaded when a
// first such file is opened (parquet_library.h): only there is Arrow included and linked. No exception leaves
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::data {

struct ParquetColumn {
    std::string name;
    std::string type;   // as Parquet calls it: "String", "List", "INT64"
    bool taken = true;  // each row has a text, a number or a boolean there, or nothing
};

struct ParquetValue {
    enum class State : std::uint8_t { text, null, too_long, not_finite };
    State state = State::null;
    // Of a text and of a number or boolean as its text; of a text that is longer than limits::line_bytes,
    // nothing.
    std::string text;
};

class ParquetTable {
public:
    virtual ~ParquetTable() = default;

    // Those of the outermost level.
    virtual const std::vector<ParquetColumn>& columns() const = 0;

    // The values of these columns, by their numbers, in the next row. All calls have the same `columns`, all
    // of them taken. False: there is no row left, or fault() says what is wrong.
    virtual bool next(const std::vector<std::size_t>& columns, std::vector<ParquetValue>& values) = 0;

    // Empty: nothing. In Arrow's words, which may quote the file.
    virtual const std::string& fault() const = 0;
};

// What the library exports under this name. nullptr: `fault` says why, in Arrow's words. The caller deletes.
using OpenParquet = ParquetTable*(const char* path, std::string& fault);
inline constexpr const char* open_parquet_symbol = "switchyard_open_parquet_v1";

}  // namespace switchyard::data

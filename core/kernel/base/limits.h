// How much of what comes from outside is taken in: texts of other programs, files of users, results that were
// carried over. What is larger is refused in words that name the limit, instead of taking all memory or all
// of the stack. Each is tested on its border, but parquet_bytes, of which only a page beyond it is tested.
#pragma once

#include <cstddef>
#include <cstdint>

namespace switchyard::base::limits {

inline constexpr std::size_t json_depth = 64;                     // objects and lists inside each other
inline constexpr std::size_t json_bytes = std::size_t{64} << 20;  // of one JSON text
inline constexpr std::size_t json_values = std::size_t{1} << 22;  // objects, lists, texts, numbers of one
inline constexpr std::size_t quoted_characters = 200;             // of a foreign text that a message quotes
inline constexpr std::size_t listed_problems = 20;                // before "and N more"
inline constexpr std::size_t path_bytes = 4096;  // of one word of a message: no path is longer (PATH_MAX)

inline constexpr std::size_t file_bytes = std::size_t{256} << 20;  // of a file that is read as a whole
inline constexpr std::size_t line_bytes = std::size_t{16} << 20;   // of a line of text, or of a row

// Packed data (gzip, bzip2, zstd) may be so many times as large as its file, and this much in any case.
inline constexpr std::size_t unpacked_ratio = 200;
inline constexpr std::size_t unpacked_bytes = std::size_t{64} << 20;

// That reading a Parquet file takes at once: a page of each column, packed and unpacked.
inline constexpr std::int64_t parquet_bytes = std::int64_t{1} << 30;

inline constexpr std::size_t vocabulary_bytes = std::size_t{64} << 20;
inline constexpr std::size_t vocabulary_entries = std::size_t{1} << 22;
inline constexpr std::size_t expression_bytes = std::size_t{1} << 14;  // of a tokenizer's regular expression
inline constexpr std::uint32_t expression_steps = 20'000'000;          // that looking for one match may take

// The largest count of samples, tokens or bytes that another program is believed to have.
inline constexpr std::int64_t arm_count = 1'000'000'000'000'000;

// The times of a step that another program is believed to have measured, in milliseconds: a nanosecond to 115
// days.
inline constexpr double arm_least_ms = 1e-6, arm_most_ms = 1e10;

}  // namespace switchyard::base::limits

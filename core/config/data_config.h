// [data]: where samples come from and how they are read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>

namespace switchyard::config {

// What to do with a row that cannot be used.
enum class BadRow : std::uint8_t { error, skip };

struct DataConfig {
    std::vector<std::string> train;  // files: text, tsv, csv or jsonl by their names, plain, gzip or bzip2
    std::vector<std::string> eval;   // empty: a part of `train`, see eval_share
    double eval_share = 0.1;         // share of the texts that are held out, chosen by a hash of the text
    std::string text_column = "text";
    std::string pair_column;  // a second text for each sample; empty: none
    std::string label_column = "label";
    BadRow bad_row = BadRow::error;      // malformed rows
    BadRow other_label = BadRow::error;  // rows whose label is not one of task.labels
    std::string vocabulary;              // vocab.txt
    bool lower_case = true;
    std::int64_t max_rows = 0;  // of each file; 0: all
    bool operator==(const DataConfig&) const = default;
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<config::BadRow>{"error", "skip"};
}  // namespace switchyard

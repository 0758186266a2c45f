// [data]: where samples come from and how they are read.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/kernel/config/source_config.h"

namespace switchyard::config {

// What to do with a row that cannot be used.
enum class BadRow : std::uint8_t { error, skip };

// automatic: by the name of `vocabulary`, or whatever the folder of train.weights brings;  wordpiece: BERT's,
// a vocab.txt;  bytes: each byte a token;  smiles: tokens of molecules, from `vocabulary` or from the
// training files themselves;  huggingface: a tokenizer.json;  gpt2: vocab.json and merges.txt;
// sentencepiece: a .model.
enum class TokenizerKind : std::uint8_t {
    automatic,
    wordpiece,
    bytes,
    smiles,
    huggingface,
    gpt2,
    sentencepiece
};

// What one text of a language model is: a row;  paragraphs: the lines between two empty ones;  files: all
// that a file holds.
enum class Documents : std::uint8_t { rows, paragraphs, files };

// How texts become samples of a language model.
// none: each text is a sample, cut to batch.max_length;  packed_lm: texts end to end in blocks of
// batch.max_length tokens, without attention across the end of a text;  fixed: the same blocks as one stream,
// in which a token attends to all before it.
enum class Blocks : std::uint8_t { none, packed_lm, fixed };

// When an epoch of several sources ends. first_exhausted: a source has given all that it has, and no sample
// comes twice;  all_exhausted: each source has, and the others have begun again.
enum class Stopping : std::uint8_t { first_exhausted, all_exhausted };

// What becomes of a text that is longer than a sample may be. split: several samples.
enum class LongText : std::uint8_t { truncate, split, error };

// What a seq2seq model is to answer. texts: a second text that is given with the first;  spans: the spans
// that were cut out of the text.
enum class Targets : std::uint8_t { texts, spans };

struct DataConfig {
    // Files: text, tsv, csv, jsonl or Orange's tab by their names, plain, gzip, bzip2 or zstd, or Parquet; a
    // folder: all files in it; a pattern: all that match.
    std::vector<std::string> train;
    std::vector<SourceConfig> sources;  // [[data.source]], instead of `train`
    Stopping stopping = Stopping::first_exhausted;
    std::vector<std::string> eval;  // empty: a part of `train`, see eval_fraction
    double eval_fraction = 0.1;     // share of the texts that are held out, chosen by a hash of the text
    std::string text_column = "text";
    std::string pair_column;  // a second text for each sample; empty: none
    std::string label_column = "label";
    std::string label_separator;  // multi_label: between the names in label_column; empty: a column for each
    // seq2seq: the second text is in a column, or on the same line of another file; one such file for each of
    // train and eval.
    std::string target_column;
    std::vector<std::string> target_train, target_eval;
    Targets targets = Targets::texts;
    Documents documents = Documents::rows;
    Blocks blocks = Blocks::none;
    BadRow bad_row = BadRow::error;         // malformed rows
    BadRow other_label = BadRow::error;     // rows whose label is not one of task.labels
    LongText on_long = LongText::truncate;  // a text that does not fit into batch.max_length tokens
    TokenizerKind tokenizer = TokenizerKind::automatic;
    std::string vocabulary;  // the tokenizer's file, or a folder with it
    bool lower_case = true;
    // masked_lm (Devlin et al. 2019): how many tokens are to be told, and how many of those are hidden, or
    // replaced by another; the rest stays as it is.
    double mask_share = 0.15;
    double mask_token_share = 0.8;
    double mask_random_share = 0.1;
    bool mask_whole_words = false;  // all tokens of a word or none
    // Targets::spans (Raffel et al. 2020).
    double span_share = 0.15;   // of the tokens that are cut out
    double span_length = 3.0;   // mean tokens of a span
    std::int64_t max_rows = 0;  // of each file; 0: all
    bool operator==(const DataConfig&) const = default;

    // There is something to train on.
    bool given() const { return !train.empty() || !sources.empty(); }
};

}  // namespace switchyard::config

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 2> names<config::BadRow>{"error", "skip"};
template <>
inline constexpr std::array<std::string_view, 7> names<config::TokenizerKind>{
    "auto", "wordpiece", "bytes", "smiles", "huggingface", "gpt2", "sentencepiece"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Documents>{"rows", "paragraphs", "files"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::Blocks>{"none", "packed_lm", "fixed"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::Stopping>{"first_exhausted", "all_exhausted"};
template <>
inline constexpr std::array<std::string_view, 3> names<config::LongText>{"truncate", "split", "error"};
template <>
inline constexpr std::array<std::string_view, 2> names<config::Targets>{"texts", "spans"};
}  // namespace switchyard

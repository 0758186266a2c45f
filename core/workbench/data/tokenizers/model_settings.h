// What tokenizer_config.json, special_tokens_map.json and added_tokens.json beside a tokenizer say: names of
// special tokens, and what SentencePiece, vocab.txt and vocab.json files do not say themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/added_tokens.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

// Names of special tokens; empty: nothing is said of it.
struct SpecialNames {
    std::string pad, bos, eos, cls, sep, unk, mask;
};

struct ModelSettings {
    SpecialNames names;
    std::string tokenizer_class;  // of transformers, "RobertaTokenizer"; empty: nothing is said of it
    std::optional<bool> lower_case, split_ideographs, strip_accents;  // of vocab.txt
    std::optional<bool> add_bos, add_eos, add_prefix_space;
    // Of added_tokens_decoder, else of added_tokens.json, by their numbers; a tokenizer.json has its own.
    std::vector<AddedToken> added;
    std::string added_file;  // which says so
};

// The names of these files.
inline constexpr const char* added_tokens_file = "added_tokens.json";
extern const std::vector<std::string> settings_files;

// Of the files of a tokenizer which that one makes no other.
void leave_out_added_tokens(std::vector<TokenizerFile>& files);

// `file`: the folder and name of each, as errors call it, with its bytes; the first that says something of a
// name is believed. `adds_tokens`: whether what they say was added to the vocabulary is read. Throws
// InputError where one is no JSON object.
ModelSettings read_model_settings(const std::vector<TokenizerFile>& files, bool adds_tokens);

}  // namespace switchyard::data

// Makes a tokenizer from texts: the files that data.vocabulary then names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <switchyard/interfaces/types.h>
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/data/tokenizers/training/learn_merges.h"

namespace switchyard::data {

// bpe: byte pairs over bytes, GPT-2's vocab.json and merges.txt, <|endoftext|> first;  wordpiece: BERT's
// vocab.txt, its five special tokens first;  unigram: SentencePiece's (Kudo 2018, arXiv:1804.10959);
// sentencepiece_bpe: byte pairs over characters, SentencePiece's. The last two make tokenizer.model, with
// pad, eos and unk first, as T5 has them.
enum class TokenizerModel : std::uint8_t { bpe, wordpiece, unigram, sentencepiece_bpe };

struct TokenizerTraining {
    TokenizerModel model = TokenizerModel::bpe;
    std::size_t size = 8000;  // tokens, at most; for SentencePiece's: exactly
    bool lower_case = true;   // wordpiece: texts are made lower case and lose their accents
};

// Learns from texts that are added one by one, of valid UTF-8.
class TokenizerTrainer {
public:
    explicit TokenizerTrainer(const TokenizerTraining& settings) : settings_(settings) {}

    void add(std::string_view text);
    std::int64_t texts() const { return texts_; }
    // Throws InputError if the texts do not make such a tokenizer.
    std::vector<TokenizerFile> finish() const;

private:
    TokenizerTraining settings_;
    std::int64_t texts_ = 0;
    WordCounts words_;                    // of bpe and wordpiece
    std::vector<std::string> sentences_;  // of SentencePiece's
};

}  // namespace switchyard::data

namespace switchyard {
template <>
inline constexpr std::array<std::string_view, 4> names<data::TokenizerModel>{"bpe", "wordpiece", "unigram",
                                                                             "sentencepiece_bpe"};
}  // namespace switchyard

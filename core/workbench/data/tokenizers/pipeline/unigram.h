// The unigram language model (Kudo 2018, arXiv:1804.10959): of all ways to cut a word into tokens the one
// whose scores have the largest sum, found from left to right (Viterbi), as in SentencePiece's
// EncodeOptimized and in tokenizers' models/unigram.
#pragma once

#include <array>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/byte_trie.h"
#include "core/workbench/data/tokenizers/pipeline/word_model.h"

namespace switchyard::data {

class Unigram final : public WordModel {
public:
    struct Options {
        std::int64_t unknown = -1;   // the token for what no token says; -1: none
        bool byte_fallback = false;  // such a stretch becomes the tokens <0x00> to <0xFF> of its bytes
    };
    // The number of a token is its place; `scores` has as many. A token that stands there twice is the last
    // of them. Throws InputError.
    Unigram(const std::vector<std::string>& tokens, std::vector<double> scores, const Options& options);

    void add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const override;
    bool may_fail() const override { return unknown_ < 0; }

private:
    static constexpr std::size_t unreached = ~std::size_t{0};
    struct TextStretch {
        std::size_t begin, end;
    };
    // The best way to where a text could be cut.
    struct Step {
        double score = 0.0;
        std::int64_t token = 0;
        std::size_t begin = unreached;
    };

    void find_steps(std::string_view word, std::vector<Step>& steps) const;
    void add_piece(std::string_view piece, std::vector<std::int64_t>& ids) const;

    ByteTrie trie_;
    std::vector<double> scores_;
    double unknown_score_ = 0.0;
    bool byte_fallback_;
    std::array<std::int64_t, 256> bytes_{};
};

}  // namespace switchyard::data

// WordPiece: the longest piece that a word begins with, then the longest that continues it (wordpiece.h has
// the sources); and WordLevel: whole words only.
#pragma once

#include "core/workbench/data/tokenizers/pipeline/word_model.h"

namespace switchyard::data {

class GreedyPieces final : public WordModel {
public:
    struct Options {
        std::string unknown = "[UNK]";
        std::string continuing = "##";
        std::int64_t max_word_characters = 100;
    };
    // Throws InputError.
    GreedyPieces(const NumberedTokens& tokens, const Options& options);

    void add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const override;
    bool may_fail() const override { return false; }

private:
    Options options_;
    TokenTable continued_;  // pieces without the sign that they continue a word
    std::size_t longest_ = 0;
};

class WholeWords final : public WordModel {
public:
    // Throws InputError.
    WholeWords(const NumberedTokens& tokens, const std::string& unknown);

    void add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const override;
    bool may_fail() const override { return unknown_ < 0; }
};

}  // namespace switchyard::data

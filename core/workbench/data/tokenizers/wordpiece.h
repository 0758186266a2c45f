// BERT's tokenizer: normalization, splitting at spaces and punctuation, then greedy longest-match pieces from
// a vocabulary.
//
// Source: Devlin et al. 2019 (arXiv:1810.04805) and Schuster & Nakajima 2012 (WordPiece); the behaviour in
// every corner is that of Hugging Face's BertTokenizerFast (BertNormalizer, BertPreTokenizer, WordPiece in
// huggingface/tokenizers), against which it is tested:
//   1. control characters and U+FFFD go, every white space becomes a space, CJK ideographs stand alone;
//   2. when lower-casing: canonical decomposition, nonspacing marks go, then lower case;
//   3. split at white space; every punctuation character stands alone;
//   4. pieces: the longest one in the vocabulary, continued by the longest "##..."; a word that cannot be
//     made of pieces, or is longer than 100 characters, is [UNK].
// Special tokens written out in the text ("[SEP]") become that token, as they do there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/greedy_pieces.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"

namespace switchyard::data {

struct WordPieceOptions {
    bool lower_case = true;
    std::vector<TokenizerFile> files = {};  // what files() gives; empty: vocab.txt
};

class WordPiece final : public Tokenizer {
public:
    struct Opened {
        std::shared_ptr<const WordPiece> tokenizer;
        std::string error;  // with file and line; set if tokenizer is nullptr
    };
    // `path`: vocab.txt, one piece a line, its number is its line. Needs [UNK], [CLS], [SEP] and [PAD].
    static Opened open(const std::string& path, const WordPieceOptions& options = {});
    static Opened from_text(std::string_view vocabulary, const std::string& name,
                            const WordPieceOptions& options = {});

    // Invalid UTF-8 is read as U+FFFD, which step 1 removes. bos is [CLS], eos is [SEP].
    std::vector<std::int64_t> encode(std::string_view text) const override;
    // Pieces of a word are joined, words stand between spaces: what step 1 to 3 changed does not come back.
    std::string decode(const std::vector<std::int64_t>& ids) const override;
    std::int64_t size() const override { return vocabulary_.size(); }
    std::string problem_in(std::string_view text) const override;
    // Of a file that makes the same tokenizer again, with the same options.
    std::string vocabulary_text() const { return vocabulary_.text(); }
    std::vector<TokenizerFile> files() const override {
        return options_.files.empty() ? std::vector<TokenizerFile>{{"vocab.txt", vocabulary_text()}}
                                      : options_.files;
    }

private:
    WordPiece() = default;
    std::string find_specials();
    void encode_plain(std::string_view text, std::vector<std::int64_t>& ids) const;

    WordPieceOptions options_;
    Vocabulary vocabulary_;
    std::unique_ptr<const GreedyPieces> pieces_;  // of the vocabulary
    std::vector<std::pair<std::string, std::int64_t>> written_specials_;
};

}  // namespace switchyard::data

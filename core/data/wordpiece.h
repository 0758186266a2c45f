// BERT's tokenizer: normalization, splitting at spaces and punctuation, then greedy longest-match pieces from a vocabulary.
//
// Source: Devlin et al. 2019 (arXiv:1810.04805) and Schuster & Nakajima 2012 (WordPiece); the behaviour in every corner is that of Hugging Face's
// BertTokenizerFast (BertNormalizer, BertPreTokenizer, WordPiece in huggingface/tokenizers), against which it is tested:
//   1. control characters and U+FFFD go, every white space becomes a space, CJK ideographs stand alone;
//   2. when lower-casing: canonical decomposition, nonspacing marks go, then lower case;
//   3. split at white space; every punctuation character stands alone;
//   4. pieces: the longest one in the vocabulary, continued by the longest "##..."; a word that cannot be made of pieces, or is longer than 100 characters, is [UNK].
// Special tokens written out in the text ("[SEP]") become that token, as they do there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace switchyard::data {

struct WordPieceOptions {
    bool lower_case = true;
    std::int64_t max_word_characters = 100;
};

class WordPiece {
public:
    struct Opened {
        std::shared_ptr<const WordPiece> tokenizer;
        std::string error;  // with file and line; set if tokenizer is nullptr
    };
    // `path`: vocab.txt, one piece a line, its number is its line. Needs [UNK], [CLS], [SEP] and [PAD].
    static Opened open(const std::string& path, const WordPieceOptions& options = {});
    static Opened from_text(std::string_view vocabulary, const std::string& name,
                            const WordPieceOptions& options = {});

    // Pieces of a text, without [CLS] and [SEP]. Invalid UTF-8 is read as U+FFFD, which step 1 removes. Thread-safe.
    std::vector<std::int64_t> encode(std::string_view text) const;

    // [CLS] text [SEP], cut to `max_length` (0: never) by dropping the text's last pieces. `cut` is set to whether it was.
    std::vector<std::int64_t> encode_with_specials(std::string_view text, std::int64_t max_length,
                                                   bool* cut = nullptr) const;

    std::int64_t size() const { return static_cast<std::int64_t>(pieces_.size()); }
    const std::string& piece(std::int64_t id) const { return pieces_.at(static_cast<std::size_t>(id)); }
    std::int64_t unk_id() const { return unk_; }
    std::int64_t cls_id() const { return cls_; }
    std::int64_t sep_id() const { return sep_; }
    std::int64_t pad_id() const { return pad_; }
    std::int64_t mask_id() const { return mask_; }  // -1 where the vocabulary has none

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };

    WordPiece() = default;
    std::string read_vocabulary(std::string_view vocabulary);
    std::string find_specials();
    void encode_plain(std::string_view text, std::vector<std::int64_t>& ids) const;
    void encode_word(std::string_view word, std::vector<std::int64_t>& ids) const;

    WordPieceOptions options_;
    std::vector<std::string> pieces_;
    std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> ids_;
    std::vector<std::pair<std::string, std::int64_t>> specials_;
    std::int64_t unk_ = -1, cls_ = -1, sep_ = -1, pad_ = -1, mask_ = -1;
};

}  // namespace switchyard::data

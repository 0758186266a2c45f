// From text to numbers and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::data {

// Numbers with a meaning of their own; -1 where a tokenizer has none.
struct SpecialIds {
    std::int64_t pad = -1;
    std::int64_t bos = -1;  // begins a text
    std::int64_t eos = -1;  // ends it
    std::int64_t unk = -1;  // what is not in the vocabulary
    std::int64_t mask = -1;

    bool holds(std::int64_t id) const {
        return id >= 0 && (id == pad || id == bos || id == eos || id == unk || id == mask);
    }
};

// What stands around the tokens of a text, or of two: "[CLS] first [SEP] second [SEP]", each with its
// segment (token_type_ids).
struct FramePart {
    enum class What : std::uint8_t { token, first, second };
    What what = What::token;
    std::int64_t id = -1;  // of a token
    std::int64_t segment = 0;
};
using TextFrame = std::vector<FramePart>;

struct FramedTokens {
    std::vector<std::int64_t> ids, token_type_ids;
    bool cut = false;  // to the length that was allowed
};

// A file that a tokenizer is made of, or that makes it again.
struct TokenizerFile {
    std::string name;  // without its folder
    std::string bytes;
};

class Tokenizer {
public:
    virtual ~Tokenizer() = default;

    // Without bos and eos. Thread-safe.
    virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
    // The text of the numbers, special ones left out; so are numbers that stand for nothing.
    virtual std::string decode(const std::vector<std::int64_t>& ids) const = 0;
    // Numbers are 0 to size() - 1.
    virtual std::int64_t size() const = 0;
    // Why encode() would lose something of this text: "has the byte 0xFF at 3, which is no UTF-8". Empty: it
    // would not.
    virtual std::string problem_in(std::string_view text) const = 0;
    // Files that make the same tokenizer again, all in one folder; none where it needs none.
    virtual std::vector<TokenizerFile> files() const = 0;

    const SpecialIds& specials() const { return specials_; }
    // What batches are filled up with: pad, or where there is none a number that stands for another token.
    std::int64_t filling() const;
    const TextFrame& frame() const { return frame_; }
    const TextFrame& pair_frame() const { return pair_frame_; }
    // Tokens of frame() before and behind the text.
    std::vector<std::int64_t> before_text() const;
    std::vector<std::int64_t> behind_text() const;

    // encode() of each text, on so many threads; 0: as many as there are processors.
    std::vector<std::vector<std::int64_t>> encode_batch(std::span<const std::string_view> texts,
                                                        std::size_t threads = 0) const;

    // The text in its frame, cut to `max_length` (0: never) by dropping the text's last pieces. `cut` is set
    // to whether it was.
    std::vector<std::int64_t> encode_with_specials(std::string_view text, std::int64_t max_length,
                                                   bool* cut = nullptr) const;
    // Two texts in their frame, the longer of the two cut first, as BERT does.
    FramedTokens encode_pair(std::string_view first, std::string_view second, std::int64_t max_length) const;
    // The same of what encode() gave.
    std::vector<std::int64_t> with_specials(std::vector<std::int64_t> ids, std::int64_t max_length,
                                            bool* cut = nullptr) const;
    FramedTokens pair_of(std::vector<std::int64_t> first, std::vector<std::int64_t> second,
                         std::int64_t max_length) const;

protected:
    Tokenizer() = default;
    Tokenizer(const Tokenizer&) = default;
    Tokenizer& operator=(const Tokenizer&) = default;

    // Frames as BERT has them, of those specials that there are: bos text eos, bos first eos second eos.
    void use_plain_frames();

    SpecialIds specials_;
    TextFrame frame_{{FramePart::What::first, -1, 0}};
    TextFrame pair_frame_{{FramePart::What::first, -1, 0}, {FramePart::What::second, -1, 1}};
};

// Where `text` stops being UTF-8 (RFC 3629), counted in bytes from 0; npos: nowhere.
std::size_t find_invalid_utf8(std::string_view text);
// "is not valid UTF-8 at byte 3", counted from 1; empty: it is.
std::string utf8_problem(std::string_view text);

}  // namespace switchyard::data

// From text to numbers and back.
#pragma once

#include <cstdint>
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
    // The text of a vocabulary file that makes the same tokenizer again; empty where it needs none.
    virtual std::string vocabulary_text() const = 0;

    const SpecialIds& specials() const { return specials_; }

    // bos text eos, cut to `max_length` (0: never) by dropping the text's last pieces. `cut` is set to
    // whether it was.
    std::vector<std::int64_t> encode_with_specials(std::string_view text, std::int64_t max_length,
                                                   bool* cut = nullptr) const;

protected:
    Tokenizer() = default;
    Tokenizer(const Tokenizer&) = default;
    Tokenizer& operator=(const Tokenizer&) = default;

    SpecialIds specials_;
};

// Where `text` stops being UTF-8 (RFC 3629), counted in bytes from 0; npos: nowhere.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace switchyard::data

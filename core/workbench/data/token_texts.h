// Tokenized texts, end to end, wherever they are kept: in memory (token_store.h) or in a file.
#pragma once

#include <cstdint>
#include <vector>

namespace switchyard::data {

class TokenTexts {
public:
    virtual ~TokenTexts() = default;

    virtual std::int64_t size() const = 0;
    // Tokens of all texts up to the end of that one. Throws std::out_of_range.
    virtual std::int64_t end(std::int64_t text) const = 0;
    virtual std::int64_t longest() const = 0;  // tokens of the longest text; 0: there is none
    // Appends tokens `begin` to before `end` of all texts in a row. Thread-safe.
    virtual void append(std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) const = 0;

    std::int64_t tokens() const { return size() == 0 ? 0 : end(size() - 1); }
    std::int64_t begin(std::int64_t text) const { return text == 0 ? 0 : end(text - 1); }
    std::int64_t length(std::int64_t text) const { return end(text) - begin(text); }

protected:
    TokenTexts() = default;
    TokenTexts(const TokenTexts&) = default;
    TokenTexts& operator=(const TokenTexts&) = default;
};

}  // namespace switchyard::data

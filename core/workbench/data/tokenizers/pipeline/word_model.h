// The third step: a part of a text, a "word", becomes tokens of a vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/token_table.h"

namespace switchyard::data {

// Tokens, each with its number.
using NumberedTokens = std::vector<std::pair<std::string, std::int64_t>>;

class WordModel {
public:
    virtual ~WordModel() = default;
    WordModel(const WordModel&) = delete;
    WordModel& operator=(const WordModel&) = delete;

    // Adds the tokens of a word, which is not empty. Thread-safe. Throws InputError where something is not in
    // the vocabulary and there is no token for that.
    virtual void add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const = 0;
    // Whether add_tokens may throw.
    virtual bool may_fail() const = 0;

    // -1: there is no such token.
    std::int64_t find(std::string_view token) const { return table_.find(token); }
    // nullptr: the number is no token's.
    const std::string* name(std::int64_t id) const { return names_.find(id); }
    // How many tokens it has, and the largest number and one.
    std::int64_t count() const { return static_cast<std::int64_t>(table_.size()); }
    std::int64_t end() const { return names_.end(); }
    // The token for what is not in the vocabulary; -1: none.
    std::int64_t unknown() const { return unknown_; }

protected:
    WordModel() = default;
    // Throws InputError where two tokens have one number, or one stands there twice.
    void take(const NumberedTokens& tokens);

    TokenTable table_;
    TokenNames names_;
    std::int64_t unknown_ = -1;
};

}  // namespace switchyard::data

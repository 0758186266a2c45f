// The text of a row while its tokens come.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/infer/growing_rows.h"

namespace switchyard::infer {

// Where the last whole character of a text ends, in bytes: behind it stand the first bytes of a character of
// UTF-8, or U+FFFD, as which decoders show them until the others come.
std::size_t whole_characters(std::string_view text);

class GrowingText {
public:
    // Of tokens that stand for themselves.
    explicit GrowingText(const data::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
    // Of tokens that go on with a prompt, which is part of the text. All are decoded as one text, since
    // tokenizers write a token otherwise where a text begins with it. Where they write the prompt itself
    // otherwise once tokens stand behind it ("it '" and "it's"), it is as they write it; so is white space at
    // its end.
    GrowingText(const data::Tokenizer& tokenizer, const std::string& prompt);

    // All new tokens by now, of which the last ones are new to this text.
    void update(const Ids& ids);

    const std::string& text() const { return text_; }
    // Where that begins which new tokens have made.
    std::size_t begin_of_new() const { return begin_of_new_; }

private:
    void settle();

    const data::Tokenizer& tokenizer_;
    std::string prompt_;
    std::string kept_;      // stands before what the window gives
    Ids window_;            // tokens that are still decoded together
    std::size_t from_ = 0;  // of the window's text; before it stands what kept_ has already
    std::string known_;     // what the window gave when from_ was set
    std::size_t taken_ = 0;
    bool settled_ = false;
    std::string text_;
    std::size_t begin_of_new_ = 0;
};

}  // namespace switchyard::infer

// Texts as samples, each by itself or end to end in blocks; what is to be learnt of them is added by others
// (masked_samples.h, span_samples.h), but for the next token.
#pragma once

#include <memory>

#include <switchyard/interfaces/data_loader.h>
#include "core/workbench/data/token_texts.h"

namespace switchyard::data {

// The token after each token as its label (a causal language model). Texts then begin with bos, and `eos` is
// the label of the last token.
struct NextToken {
    bool wanted = false;
    std::int64_t eos = -1;
};

// What stands before and behind each text; -1: nothing.
struct Marks {
    std::int64_t bos = -1, eos = -1;
    std::int64_t count() const { return (bos >= 0 ? 1 : 0) + (eos >= 0 ? 1 : 0); }
};

// Tokens of one text that a sample has beside its marks, and what becomes of the others.
struct TextRoom {
    std::int64_t tokens = 0;  // 0: any number
    bool split = false;       // they are the next samples; otherwise they are left out
};

// Sample i is text i, or, where texts are split, part of one. The last label of a part that another follows
// is that one's first token.
class TextSamples final : public SampleSource {
public:
    TextSamples(std::shared_ptr<const TokenTexts> texts, Marks marks, TextRoom room, NextToken next);

    std::int64_t size() const override;
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    struct Part {
        std::int64_t begin, end;  // among all tokens
        bool goes_on;             // in the next sample
    };
    Part part(std::int64_t index) const;

    std::shared_ptr<const TokenTexts> texts_;
    Marks marks_;
    TextRoom room_;
    NextToken next_;
    std::vector<std::int64_t> part_ends_;  // samples up to the end of each text; empty: one each
};

// All texts in a row, cut into blocks of `block` tokens. The last one may be shorter; below `shortest` it is
// left out. With `documents`, a block says where its texts end; a text that goes on in the next block is a
// new one there, though its last label in this block is still its next token.
class BlockSamples final : public SampleSource {
public:
    struct Size {
        std::int64_t block, shortest = 1;
    };
    BlockSamples(std::shared_ptr<const TokenTexts> texts, Marks marks, Size size, bool documents,
                 NextToken next)
        : texts_(std::move(texts)),
          marks_(marks),
          block_(size.block),
          shortest_(size.shortest),
          documents_(documents),
          next_(next) {}

    std::int64_t size() const override { return (tokens() + block_ - shortest_) / block_; }
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    // Tokens with their marks: of all texts, and up to the end of one.
    std::int64_t tokens() const { return texts_->tokens() + texts_->size() * marks_.count(); }
    std::int64_t end(std::int64_t text) const { return texts_->end(text) + (text + 1) * marks_.count(); }
    std::int64_t text_at(std::int64_t token) const;
    // Appends what stands there of one text.
    void append(std::int64_t text, std::int64_t begin, std::int64_t end, std::vector<std::int64_t>& to) const;

    std::shared_ptr<const TokenTexts> texts_;
    Marks marks_;
    std::int64_t block_, shortest_;
    bool documents_;
    NextToken next_;
};

}  // namespace switchyard::data

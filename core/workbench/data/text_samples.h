// Texts as samples, each by itself or end to end in blocks; what is to be learnt of them is added by others
// (masked_samples.h, span_samples.h), but for the next token.
#pragma once

#include <memory>

#include <switchyard/interfaces/data_loader.h>
#include "core/workbench/data/token_store.h"

namespace switchyard::data {

// The token after each token as its label (a causal language model). Texts then stand in the store as bos
// text, and `eos` is the label of the last token.
struct NextToken {
    bool wanted = false;
    std::int64_t eos = -1;
};

// Sample i is text i.
class TextSamples final : public SampleSource {
public:
    TextSamples(std::shared_ptr<const TokenStore> texts, NextToken next)
        : texts_(std::move(texts)), next_(next) {}

    std::int64_t size() const override { return texts_->size(); }
    std::int64_t length(std::int64_t index) const override { return texts_->length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::shared_ptr<const TokenStore> texts_;
    NextToken next_;
};

// All texts in a row, cut into blocks of `block` tokens; the last one may be shorter. With `documents`, a
// block says where its texts end; a text that goes on in the next block is a new one there, though its last
// label in this block is still its next token.
class BlockSamples final : public SampleSource {
public:
    BlockSamples(std::shared_ptr<const TokenStore> texts, std::int64_t block, bool documents, NextToken next);

    std::int64_t size() const override { return (texts_->tokens() + block_ - 1) / block_; }
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::shared_ptr<const TokenStore> texts_;
    std::int64_t block_;
    bool documents_;
    NextToken next_;
    std::vector<std::int64_t> first_texts_;  // of each block: the text that its first token belongs to
};

}  // namespace switchyard::data

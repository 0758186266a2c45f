// Pairs of sentences of which the second follows the first or not, as BERT learns them (Devlin et al. 2019,
// arXiv:1810.04805): in half of them it does (label 0), in the others it is of another document (label 1).
//
// Which it is, is drawn anew in each epoch. What does not follow is taken from any sentence of the other
// document on, as long as what would have followed, from the document's beginning again where it ends: so the
// lengths tell nothing, and a sample is as long in one epoch as in the next.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/config.h"
#include "core/workbench/data/splitmix64.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

class NextSentences final : public SampleSource {
public:
    struct Marks {
        std::int64_t begin = 0, end = 0;  // [CLS] and [SEP]
    };
    NextSentences(Marks marks, std::int64_t max_length, std::uint64_t seed)
        : marks_(marks), max_length_(max_length), seed_(seed) {}

    // Sentences of one document, in order; two at least, none of them empty. How many of its pairs are cut.
    std::int64_t add(const std::vector<std::vector<std::int64_t>>& sentences);
    std::int64_t documents() const { return static_cast<std::int64_t>(document_ends_.size()); }

    std::int64_t size() const override { return static_cast<std::int64_t>(firsts_.size()); }
    std::int64_t length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    struct Lengths {
        std::size_t first, second;
    };
    Lengths lengths_of(std::int64_t first) const;
    std::int64_t document_of(std::int64_t sentence) const;
    // Tokens of another document than `document`.
    std::vector<std::int64_t> elsewhere(std::int64_t document, std::size_t length, SplitMix64& random) const;

    Marks marks_;
    std::int64_t max_length_;
    std::uint64_t seed_;
    TokenStore sentences_;                     // of all documents, one after the other
    std::vector<std::int64_t> document_ends_;  // sentences before the end of each document
    std::vector<std::int64_t> firsts_;         // of each pair: its first sentence
};

// Documents as data.documents has them; each line of one that is not empty is a sentence.
Splits read_next_sentences(const config::Config& config, const Tokenizer& tokenizer);

}  // namespace switchyard::data

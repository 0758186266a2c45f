// Words to be told from those around them: the masked language model of BERT (Devlin et al. 2019,
// arXiv:1810.04805), drawn anew in each epoch as in RoBERTa (Liu et al. 2019, arXiv:1907.11692).
#pragma once

#include <memory>

#include <switchyard/interfaces/data_loader.h>
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct Masking {
    double share = 0.15;        // of the tokens that are not special: each is chosen by itself
    double mask_share = 0.8;    // of the chosen: the mask token instead
    double random_share = 0.1;  // of the chosen: any token that is not special instead; the rest stays
    bool whole_words = false;   // each word is chosen by itself, with all its tokens (whole_words.h)
};

// Samples of `texts` with tokens replaced; a label where one was chosen, -100 elsewhere. In a sample where
// none is chosen, one is, if there is one.
class MaskedSamples final : public SampleSource {
public:
    // The tokenizer has a mask token, and outlives this.
    MaskedSamples(std::shared_ptr<const SampleSource> texts, const Tokenizer& tokenizer,
                  const Masking& masking, std::uint64_t seed);

    std::int64_t size() const override { return texts_->size(); }
    std::int64_t length(std::int64_t index) const override { return texts_->length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::shared_ptr<const SampleSource> texts_;
    SpecialIds specials_;
    std::vector<std::int64_t> words_;  // what a token may be replaced by
    std::vector<bool> continues_;      // by token; empty: each is a word
    Masking masking_;
    std::uint64_t seed_;
};

}  // namespace switchyard::data

// Texts with a label for each word, in columns as those of CoNLL's shared tasks (Tjong Kim Sang and De
// Meulder 2003): a word a line, its columns apart by blanks or tabs, an empty line between two sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <switchyard/interfaces/data_loader.h>
#include "core/kernel/config/config.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/token_store.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

// One sentence: bos, the pieces of its words, eos. A word's label stands at its first piece, -100 elsewhere.
struct LabelledTokens {
    std::vector<std::int64_t> ids, labels;
    bool cut = false;
    std::string fault;     // why the sentence cannot be used
    std::size_t byte = 0;  // of the sentence, where the fault is
    config::BadRow rule = config::BadRow::error;
};

// `sentence`: its lines. The word stands in data.text_column and its label in data.label_column, as "#0",
// "#1", ...; left as they are by default, in the first column and in the last. All lines have as many
// columns as the first. A sentence of the word -DOCSTART- has no tokens.
LabelledTokens labelled_tokens(const config::Config& config, const Tokenizer& tokenizer,
                               const std::string& sentence);

class LabelledSentences final : public SampleSource {
public:
    void add(const LabelledTokens& tokens);
    std::int64_t size() const override { return texts_.size(); }
    std::int64_t length(std::int64_t index) const override { return texts_.length(index); }
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    TokenStore texts_, labels_;
};

Splits read_labelled_tokens(const config::Config& config, const Tokenizer& tokenizer);

}  // namespace switchyard::data

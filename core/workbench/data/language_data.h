// Texts for language models that learn from text alone.
#pragma once

#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

// causal: the next token (text_samples.h);  masked: hidden words (masked_samples.h);  spans: what was cut out
// (span_samples.h).
enum class LanguageTask : std::uint8_t { causal, masked, spans };

struct LanguageSettings {
    LanguageTask task = LanguageTask::causal;
    std::int64_t max_length = 0;  // of a sample, and the length of a block
    std::int64_t vocab_size = 0;  // of the model: sentinels are its last words
    std::uint64_t seed = 0;       // of what is drawn
    std::int64_t min_length = 1;  // of a last block; a shorter one is left out
};

// Whole texts are held out by their hash, never parts of one.
Splits read_language_data(const config::DataConfig& data, const LanguageSettings& settings,
                          const std::shared_ptr<const Tokenizer>& tokenizer);

}  // namespace switchyard::data

// vocab.json and merges.txt, as openai/gpt-2 wrote them (encoder.py) and many models after it: byte pairs
// over bytes, words by GPT-2's expression.
//
// The two files say nothing of special tokens, but tokenizer_class of the settings does: RoBERTa's stand
// around each text, <s> first </s></s> second </s>; GPT-2's stand around none, and <|endoftext|>, if it is
// there, begins and ends texts. Where neither class is named they are RoBERTa's if the vocabulary has <s> and
// </s>. Written out in a text special tokens, and those that the settings add to the
// vocabulary, become that token.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/data/tokenizers/pipeline/pipeline_tokenizer.h"

namespace switchyard::data {

// `vocabulary` and `merges`: a file's place, as errors call it, and its bytes. `kept`: what
// Tokenizer::files() gives. Throws InputError.
std::shared_ptr<const PipelineTokenizer> read_gpt2_files(const TokenizerFile& vocabulary,
                                                         const TokenizerFile& merges,
                                                         const ModelSettings& settings,
                                                         std::vector<TokenizerFile> kept);

}  // namespace switchyard::data

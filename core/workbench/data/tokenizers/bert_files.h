// vocab.txt of a BERT to which tokens were added, as the settings beside it say: WordPiece (wordpiece.h)
// knows none of them, so that it is read as the tokenizer.json that transformers would make of these files.
#pragma once

#include <memory>
#include <vector>

#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/data/tokenizers/pipeline/pipeline_tokenizer.h"

namespace switchyard::data {

// Whether a token was added that is none of [PAD], [UNK], [CLS], [SEP] and [MASK].
bool has_more_tokens(const ModelSettings& settings);

// `vocabulary`: its place, as errors call it, and its bytes; WordPiece takes them. `kept`: what
// Tokenizer::files() gives. Throws InputError.
std::shared_ptr<const PipelineTokenizer> read_bert_files(const TokenizerFile& vocabulary,
                                                         const ModelSettings& settings, bool lower_case,
                                                         std::vector<TokenizerFile> kept);

}  // namespace switchyard::data

// tokenizer.json: a tokenizer as Hugging Face's tokenizers writes it down. What is not understood and would
// change a number is refused with its place.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/data/tokenizers/pipeline/json_field.h"
#include "core/workbench/data/tokenizers/pipeline/pipeline_tokenizer.h"

namespace switchyard::data {

// Parts of tokenizer.json, each read from its member. They throw InputError.
Normalizers read_normalizers(const JsonField& field);
PreTokenizers read_pre_tokenizers(const JsonField& field, bool keep_bytes);
Decoders read_decoders(const JsonField& field);
std::unique_ptr<const WordModel> read_word_model(const JsonField& field, bool takes_bytes);
// Whether the pre-tokenizers end in bytes that the model can take as they are.
bool can_keep_bytes(const JsonField& pre_tokenizer, const JsonField& model);
// `find`: the number of a token. The frames of `parts`.
void read_frames(const JsonField& field, TokenizerParts& parts);

// Of bos, eos, ...: by the names, else by the frame, else by the names that are usual.
SpecialIds find_specials(const TokenizerParts& parts, const SpecialNames& names);

// A whole file. `name` is what errors call it; `files` is what Tokenizer::files() then gives. Throws
// InputError.
std::shared_ptr<const PipelineTokenizer> read_tokenizer_json(std::string_view text, const std::string& name,
                                                             const SpecialNames& names = {},
                                                             std::vector<TokenizerFile> files = {});

}  // namespace switchyard::data

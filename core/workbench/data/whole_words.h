// Which tokens belong to the word before them, for any tokenizer: those between which and another it puts, or
// keeps, no white space. So do BERT's pieces "##" (whole word masking of Devlin et al.'s published code), and
// tokens of a byte-level or SentencePiece vocabulary that do not begin with a space. Punctuation is what the
// tokenizer makes of it: a word of its own for BERT's.
#pragma once

#include <vector>

#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

// By number; special tokens do not.
std::vector<bool> word_continuations(const Tokenizer& tokenizer);

}  // namespace switchyard::data

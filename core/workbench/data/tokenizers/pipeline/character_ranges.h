// Code points as Hugging Face's tokenizers has them in its tables, which are of several versions of Unicode.
#pragma once

#include <vector>

namespace switchyard::data {

struct CodePointRange {
    char32_t first, last;
};

namespace character_ranges {

extern const std::vector<CodePointRange> control;           // that BertNormalizer cleans away
extern const std::vector<CodePointRange> punctuation;       // of BertPreTokenizer and Punctuation
extern const std::vector<CodePointRange> nonspacing_mark;   // that BertNormalizer strips
extern const std::vector<CodePointRange> combining_mark;    // that StripAccents strips
extern const std::vector<CodePointRange> numeric;           // of Digits
extern const std::vector<CodePointRange> newer_word;        // \w of Rust, beyond what Unicode 15 says
extern const std::vector<CodePointRange> inert;             // that normal forms leave alone
extern const std::vector<CodePointRange> newer_lower_case;  // pairs: upper case, lower case

}  // namespace character_ranges
}  // namespace switchyard::data

// SentencePiece's table of spellings ("precompiled_charsmap"): a trie over bytes as a double array (Darts,
// Yata et al. 2007), and the texts that its values point into.
//
// Applied as Hugging Face's tokenizers does (normalizers/precompiled.rs), which looks up whole grapheme
// clusters of fewer than six bytes, else each character, and of all prefixes in the table takes the shortest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/normalizer.h"

namespace switchyard::data {

class CharsmapSpelling final : public Normalizer {
public:
    // `base64`: what stands in tokenizer.json. Throws InputError where it is damaged.
    explicit CharsmapSpelling(std::string_view base64);
    void apply(NormalizedText& text) const override;

private:
    std::optional<std::string_view> spelling_of(std::string_view key) const;

    std::vector<std::uint32_t> units_;
    std::string texts_;
};

}  // namespace switchyard::data

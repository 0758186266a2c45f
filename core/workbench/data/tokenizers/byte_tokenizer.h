// Each byte of a text is a token: any text can be written, and none is lost. 261 numbers: five special ones,
// then the 256 bytes (as in ByT5, Xue et al. 2022, arXiv:2105.13626, whose special ones are other).
#pragma once

#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

class ByteTokenizer final : public Tokenizer {
public:
    ByteTokenizer() {
        specials_ = {0, 1, 2, 3, 4};
        use_plain_frames();
    }

    std::vector<std::int64_t> encode(std::string_view text) const override;
    std::string decode(const std::vector<std::int64_t>& ids) const override;
    std::int64_t size() const override { return first_byte + 256; }
    std::string problem_in(std::string_view) const override { return ""; }
    std::vector<TokenizerFile> files() const override { return {}; }

    static constexpr std::int64_t first_byte = 5;
};

}  // namespace switchyard::data

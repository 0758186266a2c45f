// A SentencePiece model (Kudo & Richardson 2018, arXiv:1808.06226), read and run by libsentencepiece.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/data/tokenizers/pipeline/added_tokens.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace switchyard::data {

class SentencePieceTokenizer final : public Tokenizer {
public:
    // `model`: its place, as errors call it, and its bytes. `kept`: what files() gives. Throws InputError.
    //
    // Tokens that `settings` add and the model does not have as pieces are refused where a text has them.
    // bos and eos stand around a text where the model has them, unless add_bos_token and add_eos_token of
    // `settings` say otherwise.
    SentencePieceTokenizer(const TokenizerFile& model, const ModelSettings& settings,
                           std::vector<TokenizerFile> kept);
    ~SentencePieceTokenizer() override;

    std::vector<std::int64_t> encode(std::string_view text) const override;
    std::string decode(const std::vector<std::int64_t>& ids) const override;
    std::int64_t size() const override;
    std::string problem_in(std::string_view text) const override;
    std::vector<TokenizerFile> files() const override { return files_; }

private:
    std::int64_t find(const std::string& piece) const;

    std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
    std::vector<TokenizerFile> files_;
    std::unique_ptr<const AddedTokens> strangers_;  // added ones that the model has not
};

}  // namespace switchyard::data

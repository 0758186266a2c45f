// A tokenizer of Hugging Face's tokenizers library, which is a line of parts: added tokens are found, what
// lies between them is normalized, cut into words and these into tokens; a frame stands around, and decoders
// lead back. It gives the numbers that the library gives.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/added_tokens.h"
#include "core/workbench/data/tokenizers/pipeline/decoder.h"
#include "core/workbench/data/tokenizers/pipeline/normalizer.h"
#include "core/workbench/data/tokenizers/pipeline/pre_tokenizer.h"
#include "core/workbench/data/tokenizers/pipeline/word_model.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {

struct TokenizerParts {
    Normalizers normalizers;
    PreTokenizers pre_tokenizers;
    std::unique_ptr<const WordModel> model;
    std::vector<AddedToken> added;
    Decoders decoders;     // none: tokens are joined by spaces
    bool decodes = false;  // there is a decoder, if only one that does nothing
    SpecialIds specials;
    TextFrame frame, pair_frame;
    std::vector<TokenizerFile> files;
};

class PipelineTokenizer final : public Tokenizer {
public:
    explicit PipelineTokenizer(TokenizerParts parts);
    ~PipelineTokenizer() override;

    // What is no UTF-8 is read as U+FFFD.
    std::vector<std::int64_t> encode(std::string_view text) const override;
    std::string decode(const std::vector<std::int64_t>& ids) const override;
    std::int64_t size() const override { return size_; }
    std::string problem_in(std::string_view text) const override;
    std::vector<TokenizerFile> files() const override { return parts_.files; }

    // -1: there is no such token.
    std::int64_t find(const std::string& token) const;

private:
    struct Work;
    class BorrowedWork;

    void encode_part(const TextPart& part, Work& work, std::vector<std::int64_t>& ids) const;
    void encode_word(std::string_view word, Work& work, std::vector<std::int64_t>& ids) const;

    TokenizerParts parts_;
    AddedTokens added_;
    std::int64_t size_ = 0;
    mutable std::mutex mutex_;
    mutable std::vector<std::unique_ptr<Work>> idle_;  // as many as threads encoded at once
};

}  // namespace switchyard::data

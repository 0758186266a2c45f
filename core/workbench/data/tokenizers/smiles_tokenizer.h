// Tokens of molecules. Splitting is smiles_text.h's; the vocabulary is that of a file, or of the molecules
// themselves.
//
// A vocabulary file has a token a line, its number is its line, and begins with <pad> <bos> <eos> <unk>
// <mask>. One that is made of molecules holds their tokens in the order of their bytes, so it depends neither
// on the order nor on the number of the molecules.
#pragma once

#include <memory>
#include <set>

#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"

namespace switchyard::data {

class SmilesTokenizer final : public Tokenizer {
public:
    struct Opened {
        std::shared_ptr<const SmilesTokenizer> tokenizer;
        std::string error;  // with file and line; set if tokenizer is nullptr
    };
    static Opened open(const std::string& path);
    static Opened from_text(std::string_view vocabulary, const std::string& name);
    static std::shared_ptr<const SmilesTokenizer> from_tokens(const std::set<std::string>& tokens);

    std::vector<std::int64_t> encode(std::string_view text) const override;
    std::string decode(const std::vector<std::int64_t>& ids) const override;
    std::int64_t size() const override { return vocabulary_.size(); }
    std::string problem_in(std::string_view text) const override;
    // Of a file that makes the same tokenizer again.
    std::string vocabulary_text() const { return vocabulary_.text(); }
    std::vector<TokenizerFile> files() const override { return {{"vocab.txt", vocabulary_text()}}; }

private:
    SmilesTokenizer() {
        specials_ = {0, 1, 2, 3, 4};
        use_plain_frames();
    }

    Vocabulary vocabulary_;
};

// Adds the tokens of `text` to `tokens`; says what is wrong where it is no SMILES, which is at byte `at`.
std::string collect_smiles_tokens(std::string_view text, std::set<std::string>& tokens, std::size_t& at);

}  // namespace switchyard::data

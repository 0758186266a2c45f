// The first step from text to tokens: one spelling for many. The rules are those of Hugging Face's tokenizers
// (its folder normalizers), in every corner that changes a token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/match_pattern.h"
#include "core/workbench/data/tokenizers/pipeline/normal_forms.h"
#include "core/workbench/data/tokenizers/pipeline/text_parts.h"

namespace switchyard::data {

class Normalizer {
public:
    virtual ~Normalizer() = default;
    Normalizer(const Normalizer&) = delete;
    Normalizer& operator=(const Normalizer&) = delete;
    // The text is valid UTF-8 before and after. Thread-safe.
    virtual void apply(NormalizedText& text) const = 0;

protected:
    Normalizer() = default;
};

// A file may say that every character becomes a long text, again and again. Throws InputError above
// base::limits::file_bytes.
void require_bounded_spelling(std::size_t bytes);

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

// BERT's, each step if it is asked for: cleans control characters away and makes every white space a space,
// puts spaces around ideographs, drops nonspacing marks after NFD, makes lower case.
class BertSpelling final : public Normalizer {
public:
    struct Options {
        bool clean_text = true, handle_chinese_chars = true, strip_accents = true, lowercase = true;
    };
    explicit BertSpelling(const Options& options) : options_(options) {}
    void apply(NormalizedText& text) const override;

private:
    Options options_;
};

class ToNormalForm final : public Normalizer {
public:
    explicit ToNormalForm(NormalForm form) : form_(form) {}
    void apply(NormalizedText& text) const override;

private:
    NormalForm form_;
};

class LowerCase final : public Normalizer {
public:
    void apply(NormalizedText& text) const override;
};

// White space off the ends.
class StripSpace final : public Normalizer {
public:
    StripSpace(bool left, bool right) : left_(left), right_(right) {}
    void apply(NormalizedText& text) const override;

private:
    bool left_, right_;
};

class StripMarks final : public Normalizer {
public:
    void apply(NormalizedText& text) const override;
};

class ReplaceMatches final : public Normalizer {
public:
    ReplaceMatches(MatchPattern pattern, std::string content)
        : pattern_(std::move(pattern)), content_(std::move(content)) {}
    void apply(NormalizedText& text) const override;

private:
    MatchPattern pattern_;
    std::string content_;
};

// Puts a text before one that is not empty.
class PrependText final : public Normalizer {
public:
    explicit PrependText(std::string prefix) : prefix_(std::move(prefix)) {}
    void apply(NormalizedText& text) const override;

private:
    std::string prefix_;
};

// SentencePiece's "nmt": some control characters go, some signs become spaces.
class NmtSpelling final : public Normalizer {
public:
    void apply(NormalizedText& text) const override;
};

// Each byte as the character that stands for it in GPT-2's alphabet.
class ByteAlphabet final : public Normalizer {
public:
    void apply(NormalizedText& text) const override;
};

}  // namespace switchyard::data

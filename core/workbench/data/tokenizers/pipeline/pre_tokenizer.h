// The second step: a text is cut into parts that no token crosses. The rules are those of Hugging Face's
// tokenizers (its folder pre_tokenizers).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/match_pattern.h"
#include "core/workbench/data/tokenizers/pipeline/split_behavior.h"
#include "core/workbench/data/tokenizers/pipeline/text_parts.h"

namespace switchyard::data {

// What a cut is made with; kept from one text to the next.
struct CutMemory {
    TextStore texts;
    std::vector<Stretch> stretches;
};

class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    PreTokenizer(const PreTokenizer&) = delete;
    PreTokenizer& operator=(const PreTokenizer&) = delete;
    // Adds the parts of `part`, which is not empty, none of them empty. Thread-safe.
    virtual void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const = 0;

protected:
    PreTokenizer() = default;
};

using PreTokenizers = std::vector<std::unique_ptr<const PreTokenizer>>;

// At white space, which goes, and around each punctuation mark.
class BertWords final : public PreTokenizer {
public:
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;
};

// White space goes; all else stays together.
class SpacedWords final : public PreTokenizer {
public:
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;
};

// \w+|[^\w\s]+ of Rust's regular expressions.
class WordsAndSigns final : public PreTokenizer {
public:
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;
};

// At each character of one kind.
class SplitAtCharacters final : public PreTokenizer {
public:
    using Kind = bool (*)(char32_t);
    SplitAtCharacters(Kind kind, SplitBehavior behavior) : kind_(kind), behavior_(behavior) {}
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;

private:
    Kind kind_;
    SplitBehavior behavior_;
};

class SplitAtMatches final : public PreTokenizer {
public:
    // `inverted`: what lies between matches delimits.
    SplitAtMatches(MatchPattern pattern, SplitBehavior behavior, bool inverted)
        : pattern_(std::move(pattern)), behavior_(behavior), inverted_(inverted) {}
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;

private:
    MatchPattern pattern_;
    SplitBehavior behavior_;
    bool inverted_;
};

// GPT-2's: words with the space before them, and each byte as a character (byte_alphabet.h).
class ByteLevelWords final : public PreTokenizer {
public:
    struct Options {
        bool add_prefix_space = true, use_regex = true;
        bool keep_bytes = false;  // the model that follows takes bytes as they are
    };
    explicit ByteLevelWords(const Options& options);
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;

private:
    Options options_;
    std::shared_ptr<const Expression> expression_;
};

// SentencePiece's: a sign in place of each space, and before the text.
class MetaspaceWords final : public PreTokenizer {
public:
    enum class Prepend : std::uint8_t { first, never, always };
    struct Options {
        std::string replacement = "\xE2\x96\x81";
        Prepend prepend = Prepend::always;
        bool split = true;
    };
    explicit MetaspaceWords(Options options) : options_(std::move(options)) {}
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;

private:
    Options options_;
};

// Parts of so many characters.
class FixedLengths final : public PreTokenizer {
public:
    explicit FixedLengths(std::size_t characters) : characters_(characters) {}
    void cut(const TextPart& part, std::vector<TextPart>& parts, CutMemory& memory) const override;

private:
    std::size_t characters_;
};

}  // namespace switchyard::data

// From tokens back to a text: steps over the list of tokens, whose parts are then put end to end. The rules
// are those of Hugging Face's tokenizers (its folder decoders).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/workbench/data/tokenizers/pipeline/match_pattern.h"

namespace switchyard::data {

using TokenStrings = std::vector<std::string>;

class Decoder {
public:
    virtual ~Decoder() = default;
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;
    // Thread-safe.
    virtual void apply(TokenStrings& texts) const = 0;

protected:
    Decoder() = default;
};

using Decoders = std::vector<std::unique_ptr<const Decoder>>;

// Pieces that continue a word lose their sign, the others get a space before them. `cleanup`: the spaces
// before English punctuation and contractions go.
class JoinWordPieces final : public Decoder {
public:
    JoinWordPieces(std::string continuing, bool cleanup)
        : continuing_(std::move(continuing)), cleanup_(cleanup) {}
    void apply(TokenStrings& texts) const override;

private:
    std::string continuing_;
    bool cleanup_;
};

// Characters of GPT-2's alphabet become bytes; what then is no UTF-8 becomes U+FFFD.
class JoinByteAlphabet final : public Decoder {
public:
    void apply(TokenStrings& texts) const override;
};

// The sign becomes a space; in the first token it goes, unless none was put before the text.
class MetaspaceToSpace final : public Decoder {
public:
    MetaspaceToSpace(std::string replacement, bool prepended)
        : replacement_(std::move(replacement)), prepended_(prepended) {}
    void apply(TokenStrings& texts) const override;

private:
    std::string replacement_;
    bool prepended_;
};

// What ends a word becomes a space, at the end of the text nothing.
class SuffixToSpace final : public Decoder {
public:
    explicit SuffixToSpace(std::string suffix) : suffix_(std::move(suffix)) {}
    void apply(TokenStrings& texts) const override;

private:
    std::string suffix_;
};

class ReplaceInTokens final : public Decoder {
public:
    ReplaceInTokens(MatchPattern pattern, std::string content)
        : pattern_(std::move(pattern)), content_(std::move(content)) {}
    void apply(TokenStrings& texts) const override;

private:
    MatchPattern pattern_;
    std::string content_;
};

// Tokens <0x00> to <0xFF> behind one another become the text of these bytes; if they are none, U+FFFD each.
class JoinByteTokens final : public Decoder {
public:
    void apply(TokenStrings& texts) const override;
};

// All tokens become one.
class FuseTokens final : public Decoder {
public:
    void apply(TokenStrings& texts) const override;
};

// A character goes from both ends of each token, so many times at most.
class StripFromTokens final : public Decoder {
public:
    StripFromTokens(std::string character, std::int64_t start, std::int64_t stop)
        : character_(std::move(character)), start_(start), stop_(stop) {}
    void apply(TokenStrings& texts) const override;

private:
    std::string character_;
    std::int64_t start_, stop_;
};

}  // namespace switchyard::data

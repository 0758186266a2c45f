#include "core/workbench/data/tokenizers/pipeline/decoder.h"

#include <array>
#include <string_view>

#include "core/kernel/base/joined.h"
#include "core/workbench/data/tokenizers/pipeline/byte_alphabet.h"
#include "core/workbench/data/tokenizers/pipeline/byte_tokens.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"
#include "core/workbench/data/tokenizers/pipeline/normalizer.h"

namespace switchyard::data {
namespace {

void replace_in(std::string& text, std::string_view what, std::string_view with) {
    if (what.empty()) return;
    std::string result;
    std::size_t from = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, from)) {
        result.append(text, from, at - from).append(with);
        from = at + what.size();
    }
    if (from > 0) text = result.append(text, from);
}

}  // namespace

void JoinWordPieces::apply(TokenStrings& texts) const {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 11> english{{{" .", "."},
                                                                                     {" ?", "?"},
                                                                                     {" !", "!"},
                                                                                     {" ,", ","},
                                                                                     {" ' ", "'"},
                                                                                     {" n't", "n't"},
                                                                                     {" 'm", "'m"},
                                                                                     {" do not", " don't"},
                                                                                     {" 's", "'s"},
                                                                                     {" 've", "'ve"},
                                                                                     {" 're", "'re"}}};
    for (std::size_t i = 0; i < texts.size(); ++i) {
        auto& text = texts[i];
        if (i > 0) {
            if (text.starts_with(continuing_))
                text.erase(0, continuing_.size());
            else
                text.insert(0, " ");
        }
        for (const auto& [what, with] : english) {
            if (cleanup_) replace_in(text, what, with);
        }
    }
}

void JoinByteAlphabet::apply(TokenStrings& texts) const {
    std::string bytes;
    for (const auto& text : texts) {
        const auto before = bytes.size();
        for (std::size_t at = 0; at < text.size();) {
            const auto c = code_point_at(text, at);
            const auto byte = byte_of_character(c.value);
            if (!byte) {  // then it is no text of this alphabet at all
                bytes.resize(before);
                bytes += text;
                break;
            }
            bytes += static_cast<char>(*byte);
            at += c.size;
        }
    }
    texts = {repaired_utf8(bytes)};
}

void MetaspaceToSpace::apply(TokenStrings& texts) const {
    for (std::size_t i = 0; i < texts.size(); ++i)
        replace_in(texts[i], replacement_, i == 0 && prepended_ ? "" : " ");
}

void SuffixToSpace::apply(TokenStrings& texts) const {
    for (std::size_t i = 0; i < texts.size(); ++i)
        replace_in(texts[i], suffix_, i + 1 == texts.size() ? "" : " ");
}

void ReplaceInTokens::apply(TokenStrings& texts) const {
    std::vector<Stretch> stretches;
    for (auto& text : texts) {
        pattern_.find_all(text, stretches);
        std::string result;
        for (const auto& [begin, end, matched] : stretches) {
            require_bounded_spelling(result.size() + content_.size());
            result += matched ? content_ : text.substr(begin, end - begin);
        }
        text = std::move(result);
    }
}

void JoinByteTokens::apply(TokenStrings& texts) const {
    TokenStrings result;
    std::string bytes;
    const auto end_bytes = [&] {
        if (bytes.empty()) return;
        if (repaired_utf8(bytes) == bytes)
            result.push_back(bytes);
        else
            result.insert(result.end(), bytes.size(), "\xEF\xBF\xBD");
        bytes.clear();
    };
    for (auto& text : texts) {
        if (const auto byte = byte_of_token(text)) {
            bytes += static_cast<char>(*byte);
            continue;
        }
        end_bytes();
        result.push_back(std::move(text));
    }
    end_bytes();
    texts = std::move(result);
}

void FuseTokens::apply(TokenStrings& texts) const { texts = {base::joined(texts, "")}; }

void StripFromTokens::apply(TokenStrings& texts) const {
    for (auto& text : texts) {
        std::string_view kept = text;
        std::string_view front = kept;
        std::int64_t cut = 0;
        for (; cut < start_ && front.starts_with(character_); ++cut) front.remove_prefix(character_.size());
        for (std::int64_t i = 0; i < stop_ && kept.ends_with(character_); ++i)
            kept.remove_suffix(character_.size());
        const auto begin = text.size() - front.size();
        text = begin < kept.size() ? std::string(kept.substr(begin)) : "";
    }
}

}  // namespace switchyard::data

#include "core/workbench/data/tokenizers/pipeline/added_tokens.h"

#include <algorithm>
#include <utility>

#include "core/workbench/data/tokenizers/pipeline/characters.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizers& normalizers)
    : tokens_(std::move(tokens)) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
        const auto& token = tokens_[i];
        NormalizedText spelled{token.content, 0};
        if (token.normalized) {
            for (const auto& normalizer : normalizers) normalizer->apply(spelled);
        }
        by_id_[token.id] = i;
        if (token.special) special_.insert(token.content);
        if (!spelled.text.empty())
            (token.normalized ? in_normalized_ : in_raw_).add(spelled.text, static_cast<std::int64_t>(i));
        spellings_.push_back(std::move(spelled.text));
    }
}

AddedTokens::Found AddedTokens::longest_at(const ByteTrie& trie, std::string_view text,
                                           std::size_t at) const {
    Found found;
    if (!trie.begins(static_cast<unsigned char>(text[at]))) return found;
    auto node = ByteTrie::root;
    for (auto end = at; end < text.size();) {
        node = trie.step(node, static_cast<unsigned char>(text[end++]));
        if (node == ByteTrie::nowhere) break;
        const auto value = trie.value(node);
        if (value != ByteTrie::nothing) found = {&tokens_[static_cast<std::size_t>(value)], at, end};
    }
    return found;
}

bool AddedTokens::widen(const AddedToken& token, std::string_view text, std::size_t covered,
                        std::size_t& begin, std::size_t& end) {
    if (token.single_word) {
        const auto word_at = [&](std::size_t at) { return is_word_character(code_point_at(text, at).value); };
        if (begin > 0 && word_at(last_code_point(text.substr(0, begin)))) return false;
        if (end < text.size() && word_at(end)) return false;
    }
    if (token.lstrip) {
        while (begin > 0) {
            const auto last = last_code_point(text.substr(0, begin));
            if (!is_white_space(code_point_at(text, last).value)) break;
            begin = last;
        }
        begin = std::max(begin, covered);
    }
    while (token.rstrip && end < text.size()) {
        const auto c = code_point_at(text, end);
        if (!is_white_space(c.value)) break;
        end += c.size;
    }
    return true;
}

const AddedToken* AddedTokens::find(std::int64_t id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const std::string& AddedTokens::spelling(const AddedToken& token) const {
    return spellings_[by_id_.at(token.id)];
}

bool AddedTokens::is_special(const std::string& content) const { return special_.contains(content); }

}  // namespace switchyard::data

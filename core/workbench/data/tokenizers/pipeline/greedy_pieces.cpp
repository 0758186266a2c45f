#include "core/workbench/data/tokenizers/pipeline/greedy_pieces.h"

#include <algorithm>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/code_points.h"

namespace switchyard::data {

GreedyPieces::GreedyPieces(const NumberedTokens& tokens, const Options& options) : options_(options) {
    take(tokens);
    unknown_ = find(options.unknown);
    if (unknown_ < 0)
        throw base::InputError("has no token '" + base::quoted(options.unknown) + "', which unk_token names");
    for (const auto& [token, id] : tokens) {
        longest_ = std::max(longest_, token.size());
        if (token.starts_with(options.continuing))
            continued_.add(std::string_view(token).substr(options.continuing.size()), id);
    }
}

void GreedyPieces::add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const {
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(options_.max_word_characters, 0));
    if (word.size() > most && count_code_points(word) > most) return ids.push_back(unknown_);
    const auto before = ids.size();
    for (std::size_t begin = 0; begin < word.size();) {
        const auto& table = begin == 0 ? table_ : continued_;
        auto end = word.size();
        std::int64_t found = TokenTable::none;
        if (end - begin > longest_) {
            end = begin + longest_;
            while (end > begin && (static_cast<unsigned char>(word[end]) & 0xC0U) == 0x80U) --end;
        }
        while (end > begin) {
            found = table.find(word.substr(begin, end - begin));
            if (found != TokenTable::none) break;
            end = begin + last_code_point(word.substr(begin, end - begin));
        }
        if (found == TokenTable::none) {
            ids.resize(before);
            return ids.push_back(unknown_);
        }
        ids.push_back(found);
        begin = end;
    }
}

WholeWords::WholeWords(const NumberedTokens& tokens, const std::string& unknown) {
    take(tokens);
    unknown_ = find(unknown);
}

void WholeWords::add_tokens(std::string_view word, std::vector<std::int64_t>& ids) const {
    const auto id = find(word);
    if (id < 0 && unknown_ < 0)
        throw base::InputError("'" + base::quoted(word) +
                               "' is not in the tokenizer's vocabulary, which has no unknown token");
    ids.push_back(id < 0 ? unknown_ : id);
}

}  // namespace switchyard::data

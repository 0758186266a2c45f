#include "core/workbench/data/tokenizers/wordpiece.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/workbench/data/tokenizers/bert_normalizer.h"

namespace switchyard::data {

WordPiece::Opened WordPiece::open(const std::string& path, const WordPieceOptions& options) {
    auto file = open_vocabulary(path);
    if (!file.error.empty()) return {nullptr, std::move(file.error)};
    return from_text(file.text, path, options);
}

WordPiece::Opened WordPiece::from_text(std::string_view vocabulary, const std::string& name,
                                       const WordPieceOptions& options) {
    std::shared_ptr<WordPiece> tokenizer(new WordPiece);
    tokenizer->options_ = options;
    Vocabulary& tokens = tokenizer->vocabulary_;
    std::string error = for_each_token(vocabulary, [&](std::string_view line) { return tokens.add(line); });
    if (error.empty() && tokens.size() == 0) error = "1: the vocabulary is empty";
    if (error.empty()) error = tokenizer->find_specials();
    if (!error.empty()) return {nullptr, name + ":" + error};
    NumberedTokens numbered;
    for (std::int64_t id = 0; id < tokens.size(); ++id) numbered.emplace_back(tokens.token(id), id);
    tokenizer->pieces_ = std::make_unique<GreedyPieces>(numbered, GreedyPieces::Options{});
    return {std::move(tokenizer), ""};
}

std::string WordPiece::find_specials() {
    const std::array<std::pair<const char*, std::int64_t*>, 5> specials{{{"[UNK]", &specials_.unk},
                                                                         {"[CLS]", &specials_.bos},
                                                                         {"[SEP]", &specials_.eos},
                                                                         {"[PAD]", &specials_.pad},
                                                                         {"[MASK]", &specials_.mask}}};
    for (const auto& [text, id] : specials) {
        const auto found = vocabulary_.find(text);
        if (found >= 0) {
            *id = found;
            written_specials_.emplace_back(text, found);
        } else if (id != &specials_.mask) {
            return std::string(" has no ") + text +
                   "; a BERT vocabulary holds [PAD], [UNK], [CLS], [SEP] and [MASK]";
        }
    }
    use_plain_frames();
    return "";
}

std::vector<std::int64_t> WordPiece::encode(std::string_view text) const {
    std::vector<std::int64_t> ids;
    std::size_t start = 0;
    for (auto at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
        const auto special = std::find_if(
            written_specials_.begin(), written_specials_.end(),
            [&](const auto& entry) { return text.compare(at, entry.first.size(), entry.first) == 0; });
        if (special == written_specials_.end()) continue;
        encode_plain(text.substr(start, at - start), ids);
        ids.push_back(special->second);
        start = at + special->first.size();
        at = start - 1;
    }
    encode_plain(text.substr(start), ids);
    return ids;
}

void WordPiece::encode_plain(std::string_view text, std::vector<std::int64_t>& ids) const {
    for_each_bert_word(text, options_.lower_case,
                       [&](std::string_view word) { pieces_->add_tokens(word, ids); });
}

std::string WordPiece::decode(const std::vector<std::int64_t>& ids) const {
    std::string text;
    for (const auto id : ids) {
        if (id < 0 || id >= size() || specials_.holds(id)) continue;
        const std::string_view piece = vocabulary_.token(id);
        if (piece.starts_with("##"))
            text += piece.substr(2);
        else
            text.append(text.empty() ? "" : " ").append(piece);
    }
    return text;
}

std::string WordPiece::problem_in(std::string_view text) const { return utf8_problem(text); }

}  // namespace switchyard::data

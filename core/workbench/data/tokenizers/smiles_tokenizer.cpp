#include "core/workbench/data/tokenizers/smiles_tokenizer.h"

#include <array>
#include <utility>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/smiles_text.h"

namespace switchyard::data {
namespace {

constexpr std::array<std::string_view, 5> special_tokens{"<pad>", "<bos>", "<eos>", "<unk>", "<mask>"};

std::string no_token(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string what = "byte 0x";
    if (byte >= 0x20 && byte < 0x7F)
        what = {'\'', text[at], '\''};
    else
        what += {digits[byte >> 4U], digits[byte & 15U]};
    return "is no SMILES: " + what + " at column " + std::to_string(at + 1) + " begins no token";
}

}  // namespace

SmilesTokenizer::Opened SmilesTokenizer::open(const std::string& path) {
    auto file = open_vocabulary(path);
    if (!file.error.empty()) return {nullptr, std::move(file.error)};
    return from_text(file.text, path);
}

SmilesTokenizer::Opened SmilesTokenizer::from_text(std::string_view vocabulary, const std::string& name) {
    const std::shared_ptr<SmilesTokenizer> made(new SmilesTokenizer);
    const auto fault = for_each_token(vocabulary, [&](std::string_view line) -> std::string {
        const auto index = static_cast<std::size_t>(made->size());
        const auto place = std::to_string(index + 1) + ": ";
        if (index < special_tokens.size()) {
            if (line != special_tokens[index])
                return place + "expected " + std::string(special_tokens[index]) + ", got '" +
                       base::quoted(line) + "'";
        } else if (line.empty() || first_smiles_token(line) != line) {
            return place + "'" + base::quoted(line) + "' is not a token of a SMILES";
        }
        return made->vocabulary_.add(line);
    });
    if (!fault.empty()) return {nullptr, name + ":" + fault};
    if (static_cast<std::size_t>(made->size()) <= special_tokens.size())
        return {nullptr, name +
                             ": holds no token; expected <pad>, <bos>, <eos>, <unk>, <mask> and tokens of "
                             "SMILES, one a line"};
    return {made, ""};
}

std::shared_ptr<const SmilesTokenizer> SmilesTokenizer::from_tokens(const std::set<std::string>& tokens) {
    const std::shared_ptr<SmilesTokenizer> made(new SmilesTokenizer);
    for (const auto token : special_tokens) made->vocabulary_.add(token);
    for (const auto& token : tokens) made->vocabulary_.add(token);
    return made;
}

std::vector<std::int64_t> SmilesTokenizer::encode(std::string_view text) const {
    std::vector<std::int64_t> ids;
    while (!text.empty()) {
        auto token = first_smiles_token(text);
        if (token.empty()) token = text.substr(0, 1);
        const auto id = vocabulary_.find(token);
        ids.push_back(id < 0 ? specials_.unk : id);
        text.remove_prefix(token.size());
    }
    return ids;
}

std::string SmilesTokenizer::decode(const std::vector<std::int64_t>& ids) const {
    std::string text;
    for (const auto id : ids) {
        if (id >= 0 && id < size() && !specials_.holds(id)) text += vocabulary_.token(id);
    }
    return text;
}

std::string SmilesTokenizer::problem_in(std::string_view text) const {
    for (std::size_t at = 0; at < text.size();) {
        const auto token = first_smiles_token(text.substr(at));
        if (token.empty()) return no_token(text, at);
        if (vocabulary_.find(token) < 0)
            return "has the token '" + base::quoted(token) + "' at column " + std::to_string(at + 1) +
                   ", which is not in the vocabulary";
        at += token.size();
    }
    return "";
}

std::string collect_smiles_tokens(std::string_view text, std::set<std::string>& tokens, std::size_t& at) {
    for (at = 0; at < text.size();) {
        const auto token = first_smiles_token(text.substr(at));
        if (token.empty()) return no_token(text, at);
        tokens.emplace(token);
        at += token.size();
    }
    return "";
}

}  // namespace switchyard::data

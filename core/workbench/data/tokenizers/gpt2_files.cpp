#include "core/workbench/data/tokenizers/gpt2_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/byte_pairs.h"
#include "core/workbench/data/tokenizers/pipeline/json_field.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"

namespace switchyard::data {
namespace {

NumberedTokens tokens_of_json(const TokenizerFile& file) {
    const auto object = base::parse_object(file.bytes, file.name);
    NumberedTokens tokens;
    for (const auto& [token, id] : object.items()) {
        const auto number = base::integer_of(id);
        if (!number)
            JsonField(file.name, object)
                .fail("the token '" + base::quoted(token) + "' has " + base::kind_of(id) + " for its number");
        tokens.emplace_back(token, *number);
    }
    return tokens;
}

// "left right", a line each, behind "#version: 0.2".
Merges merges_of_text(const TokenizerFile& file) {
    Merges merges;
    std::size_t line = 0;
    const auto fault = for_each_token(file.bytes, [&](std::string_view text) -> std::string {
        ++line;
        if (text.starts_with("#version")) return "";
        const auto space = text.find(' ');
        if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
            return std::to_string(line) + ": expected two tokens with a space between, got '" +
                   base::quoted(text) + "'";
        merges.emplace_back(text.substr(0, space), text.substr(space + 1));
        return "";
    });
    if (!fault.empty()) throw base::InputError(file.name + ":" + fault);
    return merges;
}

// Which of the two the tokens are of, and what those are called that stand around a text.
struct Manner {
    bool roberta = false;
    SpecialNames names;
};

Manner manner_of(const WordModel& model, const ModelSettings& settings, const std::string& file) {
    Manner manner{false, settings.names};
    auto& names = manner.names;
    constexpr const char* end_of_text = "<|endoftext|>";
    if (settings.tokenizer_class.starts_with("GPT2Tokenizer")) {
        for (auto* const name : {&names.bos, &names.eos})
            if (name->empty()) *name = end_of_text;
        return manner;
    }
    const bool named = settings.tokenizer_class.starts_with("RobertaTokenizer");
    const auto cls = names.cls.empty() || !named ? "<s>" : names.cls;
    const auto sep = names.sep.empty() || !named ? "</s>" : names.sep;
    manner.roberta = model.find(cls) >= 0 && model.find(sep) >= 0;
    if (named && !manner.roberta)
        throw base::InputError(
            file + ": error: has no token '" + base::quoted(model.find(cls) >= 0 ? sep : cls) +
            "', with which RoBERTa frames texts; expected it, or another tokenizer_class in "
            "tokenizer_config.json");
    if (manner.roberta) {
        names.cls = cls;
        names.sep = sep;
    }
    return manner;
}

// What the settings say was added to the vocabulary.
void add_stated_tokens(TokenizerParts& parts, const ModelSettings& settings) {
    auto next = parts.model->count();
    for (const auto& token : settings.added) {
        const auto known = parts.model->find(token.content);
        const auto id = known >= 0 ? known : next++;
        if (token.id != id)
            throw base::InputError(settings.added_file + ": error: the added token '" +
                                   base::quoted(token.content) + "' has the number " +
                                   std::to_string(token.id) + ", but the tokens before it leave the number " +
                                   std::to_string(id) +
                                   "; expected added tokens behind those of vocab.json, without a gap");
        parts.added.push_back(token);
    }
}

void add_special_tokens(TokenizerParts& parts, const Manner& manner) {
    const auto& names = manner.names;
    const bool roberta = manner.roberta;
    std::vector<std::string> contents{"<|endoftext|>", names.pad, names.bos, names.eos,
                                      names.cls,       names.sep, names.unk, names.mask};
    if (roberta) contents.insert(contents.end(), {"<s>", "<pad>", "</s>", "<unk>", "<mask>"});
    for (const auto& content : contents) {
        const auto id = content.empty() ? -1 : parts.model->find(content);
        const bool there = std::any_of(parts.added.begin(), parts.added.end(),
                                       [&](const AddedToken& token) { return token.content == content; });
        if (id < 0 || there) continue;
        AddedToken token{content, id};
        token.lstrip = roberta && content == "<mask>";
        token.normalized = false;
        token.special = true;
        parts.added.push_back(std::move(token));
    }
    using What = FramePart::What;
    parts.frame = {{What::first, -1, 0}};
    parts.pair_frame = {{What::first, -1, 0}, {What::second, -1, 0}};
    if (!roberta) return;
    const FramePart cls{What::token, parts.model->find(names.cls), 0};
    const FramePart sep{What::token, parts.model->find(names.sep), 0};
    parts.frame = {cls, {What::first, -1, 0}, sep};
    parts.pair_frame = {cls, {What::first, -1, 0}, sep, sep, {What::second, -1, 0}, sep};
}

}  // namespace

std::shared_ptr<const PipelineTokenizer> read_gpt2_files(const TokenizerFile& vocabulary,
                                                         const TokenizerFile& merges,
                                                         const ModelSettings& settings,
                                                         std::vector<TokenizerFile> kept) {
    const auto tokens = tokens_of_json(vocabulary);
    const auto pairs = merges_of_text(merges);
    TokenizerParts parts;
    parts.pre_tokenizers.push_back(std::make_unique<ByteLevelWords>(
        ByteLevelWords::Options{settings.add_prefix_space.value_or(false), true, true}));
    BytePairs::Options options;
    options.takes_bytes = true;
    try {
        parts.model = std::make_unique<BytePairs>(tokens, pairs, options);
    } catch (const base::InputError& error) {
        const std::string what = error.what();
        throw base::InputError((what.starts_with("merge ") ? merges.name : vocabulary.name) +
                               ": error: " + what);
    }
    parts.decoders.push_back(std::make_unique<JoinByteAlphabet>());
    parts.decodes = true;
    const auto manner = manner_of(*parts.model, settings, vocabulary.name);
    add_special_tokens(parts, manner);
    const auto without_stated = std::exchange(parts.added, {});
    add_stated_tokens(parts, settings);
    add_special_tokens(parts, manner);
    if (std::ranges::is_permutation(without_stated, parts.added)) leave_out_added_tokens(kept);
    parts.specials = find_specials(parts, manner.names);
    parts.files = std::move(kept);
    return std::make_shared<const PipelineTokenizer>(std::move(parts));
}

}  // namespace switchyard::data

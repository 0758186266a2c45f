#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/pipeline/byte_pairs.h"
#include "core/workbench/data/tokenizers/pipeline/greedy_pieces.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/pipeline/unigram.h"

namespace switchyard::data {
namespace {

constexpr auto most_tokens = static_cast<std::int64_t>(base::limits::vocabulary_entries);

NumberedTokens numbered_tokens(const JsonField& field) {
    NumberedTokens tokens;
    if (!field.is_object()) field.fail("expected an object of tokens and their numbers");
    tokens.reserve(field.value().size());
    for (const auto& [token, id] : field.value().items()) {
        const auto number = base::integer_of(id);
        if (!number)
            field.fail("the token '" + base::quoted(token) + "' has " + base::kind_of(id) +
                       " for its number");
        tokens.emplace_back(token, *number);
    }
    return tokens;
}

// "left right", or ["left", "right"].
Merges merges_of(const JsonField& field) {
    Merges merges;
    if (!field.is_list()) field.fail("expected a list of pairs");
    merges.reserve(field.value().size());
    for (const auto& pair : field.value()) {
        if (pair.is_array() && pair.size() == 2 && pair[0].is_string() && pair[1].is_string()) {
            merges.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
            continue;
        }
        const auto place = "[" + std::to_string(merges.size()) + "]";
        if (!pair.is_string()) field.fail(place + ": expected two tokens, got " + base::kind_of(pair));
        const auto& text = pair.get_ref<const std::string&>();
        if (text.starts_with("#version")) continue;
        const auto space = text.find(' ');
        if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
            field.fail(place + ": expected two tokens with a space between, got '" + base::quoted(text) +
                       "'");
        merges.emplace_back(text.substr(0, space), text.substr(space + 1));
    }
    return merges;
}

std::string text_or_nothing(const JsonField& owner, const char* key) {
    const auto field = owner.find(key);
    return field ? field->text() : "";
}

bool flag_or_not(const JsonField& owner, const char* key) {
    const auto field = owner.find(key);
    return field && field->flag();
}

std::unique_ptr<const WordModel> word_piece(const JsonField& field) {
    field.only({"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
    GreedyPieces::Options options;
    options.unknown = field.at("unk_token").text();
    options.continuing = field.at("continuing_subword_prefix").text();
    options.max_word_characters = field.at("max_input_chars_per_word").integer(0, std::int64_t{1} << 31);
    const auto vocabulary = field.at("vocab");
    return vocabulary.made(
        [&] { return std::make_unique<GreedyPieces>(numbered_tokens(vocabulary), options); });
}

std::unique_ptr<const WordModel> byte_pairs(const JsonField& field, bool takes_bytes) {
    field.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                "byte_fallback", "ignore_merges", "vocab", "merges"});
    if (const auto dropout = field.find("dropout"); dropout && dropout->number() != 0.0)
        dropout->fail("merges are not left out by chance here; expected null");
    BytePairs::Options options;
    options.unknown = text_or_nothing(field, "unk_token");
    options.continuing = text_or_nothing(field, "continuing_subword_prefix");
    options.end_of_word = text_or_nothing(field, "end_of_word_suffix");
    options.fuse_unknown = flag_or_not(field, "fuse_unk");
    options.byte_fallback = flag_or_not(field, "byte_fallback");
    options.ignore_merges = flag_or_not(field, "ignore_merges");
    options.takes_bytes = takes_bytes;
    return field.made([&] {
        return std::make_unique<BytePairs>(numbered_tokens(field.at("vocab")), merges_of(field.at("merges")),
                                           options);
    });
}

std::unique_ptr<const WordModel> unigram(const JsonField& field) {
    field.only({"type", "unk_id", "vocab", "byte_fallback"});
    Unigram::Options options;
    if (const auto unknown = field.find("unk_id")) options.unknown = unknown->integer(0, most_tokens);
    options.byte_fallback = flag_or_not(field, "byte_fallback");
    const auto vocabulary = field.at("vocab");
    if (!vocabulary.is_list()) vocabulary.fail("expected a list of tokens and their scores");
    std::vector<std::string> tokens;
    std::vector<double> scores;
    for (const auto& entry : vocabulary.value()) {
        const bool pair =
            entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number();
        if (!pair) vocabulary.fail("[" + std::to_string(tokens.size()) + "]: expected a token and its score");
        tokens.push_back(entry[0].get<std::string>());
        scores.push_back(entry[1].get<double>());
    }
    return vocabulary.made([&] { return std::make_unique<Unigram>(tokens, std::move(scores), options); });
}

std::unique_ptr<const WordModel> whole_words(const JsonField& field) {
    field.only({"type", "vocab", "unk_token"});
    const auto vocabulary = field.at("vocab");
    return vocabulary.made([&] {
        return std::make_unique<WholeWords>(numbered_tokens(vocabulary), field.at("unk_token").text());
    });
}

// Old files do not say which model they have.
std::size_t guessed_model(const JsonField& field) {
    if (field.find("merges")) return 1;
    if (field.at("vocab").is_list()) return 2;
    return field.find("continuing_subword_prefix") ? 0 : 3;
}

}  // namespace

std::unique_ptr<const WordModel> read_word_model(const JsonField& field, bool takes_bytes) {
    const auto named = field.find("type");
    const auto type =
        named ? named->one_of({"WordPiece", "BPE", "Unigram", "WordLevel"}) : guessed_model(field);
    switch (type) {
        case 0:
            return word_piece(field);
        case 1:
            return byte_pairs(field, takes_bytes);
        case 2:
            return unigram(field);
        default:
            return whole_words(field);
    }
}

}  // namespace switchyard::data

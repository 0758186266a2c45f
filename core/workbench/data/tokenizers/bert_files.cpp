#include "core/workbench/data/tokenizers/bert_files.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"

namespace switchyard::data {
namespace {

using base::Json;

constexpr std::array<std::string_view, 5> usual{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

bool is_usual(const AddedToken& token) {
    return std::find(usual.begin(), usual.end(), token.content) != usual.end();
}

Json json_of(const AddedToken& token) {
    return {{"id", token.id},          {"content", token.content}, {"single_word", token.single_word},
            {"lstrip", token.lstrip},  {"rstrip", token.rstrip},   {"normalized", token.normalized},
            {"special", token.special}};
}

Json added_tokens(const Vocabulary& vocabulary, const ModelSettings& settings) {
    Json all = Json::array();
    for (const auto token : usual) {
        AddedToken one{std::string(token), vocabulary.find(token)};
        one.normalized = false;
        one.special = true;
        if (one.id >= 0) all.push_back(json_of(one));
    }
    for (const auto& token : settings.added)
        if (!is_usual(token)) all.push_back(json_of(token));
    return all;
}

}  // namespace

bool has_more_tokens(const ModelSettings& settings) {
    return !std::all_of(settings.added.begin(), settings.added.end(), is_usual);
}

std::shared_ptr<const PipelineTokenizer> read_bert_files(const TokenizerFile& vocabulary,
                                                         const ModelSettings& settings, bool lower_case,
                                                         std::vector<TokenizerFile> kept) {
    Vocabulary tokens;
    const auto fault = for_each_token(vocabulary.bytes, [&](std::string_view line) {
        const auto problem = utf8_problem(line);  // of JSON, every text is UTF-8
        return problem.empty() ? tokens.add(line) : std::to_string(tokens.size() + 1) + ": " + problem;
    });
    if (!fault.empty()) throw base::InputError(vocabulary.name + ":" + fault);
    Json numbers = Json::object();
    // Appending to what an ordered object is made of: inserting looks through all that is there.
    Json::object_t::Container& entries = numbers.get_ref<Json::object_t&>();
    entries.reserve(static_cast<std::size_t>(tokens.size()));
    for (std::int64_t id = 0; id < tokens.size(); ++id) entries.emplace_back(tokens.token(id), id);
    const Json json{{"version", "1.0"},
                    {"added_tokens", added_tokens(tokens, settings)},
                    {"normalizer",
                     {{"type", "BertNormalizer"},
                      {"clean_text", true},
                      {"handle_chinese_chars", true},
                      {"strip_accents", nullptr},
                      {"lowercase", lower_case}}},
                    {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
                    {"post_processor",
                     {{"type", "BertProcessing"},
                      {"sep", Json::array({"[SEP]", tokens.find("[SEP]")})},
                      {"cls", Json::array({"[CLS]", tokens.find("[CLS]")})}}},
                    {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", false}}},
                    {"model",
                     {{"type", "WordPiece"},
                      {"unk_token", "[UNK]"},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100},
                      {"vocab", std::move(numbers)}}}};
    return read_tokenizer_json(json.dump(), settings.added_file, {}, std::move(kept));
}

}  // namespace switchyard::data

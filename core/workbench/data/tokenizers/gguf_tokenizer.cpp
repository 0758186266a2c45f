#include "core/workbench/data/tokenizers/gguf_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/joined.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/gguf/metadata_reader.h"

namespace switchyard::data {
namespace {

using base::InputError;
using base::Json;

// tokenizer.ggml.token_type
enum class TokenType : std::int64_t { normal = 1, unknown, control, user_defined, unused, byte };

constexpr const char* gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr const char* llama3_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char* qwen2_words =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";

// How words are cut: expressions one after the other on what those before left, then perhaps GPT-2's own.
struct Cut {
    std::vector<const char*> expressions;
    bool by_gpt2 = false;
    bool whole_words = false;  // a word that is a token is that token
    bool begins = false;       // bos stands before a text unless the file says otherwise
};

struct NamedCut {
    const char* name;
    Cut cut;
};

const std::vector<NamedCut>& cuts() {
    static const std::vector<NamedCut> all{
        {"gpt-2", {{}, true}},
        {"smollm", {{R"(\p{N})"}, true}},
        {"llama-bpe", {{llama3_words}, false, true, true}},
        {"llama3", {{llama3_words}, false, true, true}},
        {"llama-v3", {{llama3_words}, false, true, true}},
        {"qwen2", {{qwen2_words}, false}},
        {"default", {{R"([\p{P}\$\+<=>\^~\|]+)", gpt2_words, R"(\p{N}+)", "[0-9][0-9][0-9]"}, false}}};
    return all;
}

class Conversion {
public:
    explicit Conversion(const gguf::File& file) : file_(file), keys_(file) {}

    GgufTokenizer run() {
        if (!keys_.has("tokenizer.ggml.model"))
            throw InputError(file_.path() +
                             ": has no tokenizer (tokenizer.ggml.model); name one in "
                             "data.vocabulary");
        const auto model = keys_.text("tokenizer.ggml.model");
        if (model != "gpt2" && model != "llama") keys_.refuse("tokenizer.ggml.model", "'gpt2' or 'llama'");
        read_tokens();
        Json json{{"version", "1.0"}, {"added_tokens", added_tokens()}};
        json.update(model == "gpt2" ? byte_pairs() : sentencepiece());
        return {json.dump(), settings(), names()};
    }

private:
    void read_tokens() {
        constexpr const char* key = "tokenizer.ggml.tokens";
        tokens_ = keys_.texts(key);
        // The file's reader bounds how many there are.
        if (tokens_.empty()) keys_.refuse(key, "one token or more");
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            if (const auto fault = utf8_problem(tokens_[i]); !fault.empty())
                fail(key, "token " + std::to_string(i) + " " + fault);
            const auto [before, first] = numbers_.emplace(tokens_[i], i);
            if (!first)
                fail(key, "token " + std::to_string(i) + ", '" + base::quoted(tokens_[i]) + "', is token " +
                              std::to_string(before->second) + " too");
        }
        types_.assign(tokens_.size(), static_cast<std::int64_t>(TokenType::normal));
        if (!keys_.has("tokenizer.ggml.token_type")) return;
        types_ = keys_.wholes("tokenizer.ggml.token_type");
        if (types_.size() != tokens_.size())
            fail("tokenizer.ggml.token_type", "expected a type for each of " +
                                                  std::to_string(tokens_.size()) + " tokens, got " +
                                                  std::to_string(types_.size()));
    }

    [[noreturn]] void fail(const std::string& key, const std::string& what) const {
        throw InputError(file_.path() + ": " + key + ": " + what);
    }

    bool is(std::size_t id, TokenType type) const { return types_[id] == static_cast<std::int64_t>(type); }

    Json added_tokens() const {
        auto all = Json::array();
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const bool special = is(i, TokenType::control) || is(i, TokenType::unknown);
            if (!special && !is(i, TokenType::user_defined)) continue;
            all.push_back({{"id", i},
                           {"content", tokens_[i]},
                           {"single_word", false},
                           {"lstrip", false},
                           {"rstrip", false},
                           {"normalized", false},
                           {"special", special}});
        }
        return all;
    }

    Json vocabulary() const {
        Json vocabulary = Json::object();
        // Appending to what an ordered object is made of: inserting looks through all that is there.
        Json::object_t::Container& entries = vocabulary.get_ref<Json::object_t&>();
        entries.reserve(tokens_.size());
        for (std::size_t i = 0; i < tokens_.size(); ++i) entries.emplace_back(tokens_[i], i);
        return vocabulary;
    }

    std::string token_of(const char* key, std::optional<std::size_t> otherwise = std::nullopt) const {
        auto id = keys_.number_of_token(key);
        if (!id && otherwise) id = static_cast<std::int64_t>(*otherwise);
        if (!id) return "";
        if (*id < static_cast<std::int64_t>(tokens_.size())) return tokens_[static_cast<std::size_t>(*id)];
        if (!keys_.has(key)) return "";
        keys_.refuse(key, "a number below " + std::to_string(tokens_.size()));
    }

    SpecialNames names() const {
        SpecialNames names;
        const bool pieces = keys_.text("tokenizer.ggml.model") == "llama";
        const auto usual = [&](std::size_t id) { return pieces ? std::optional(id) : std::nullopt; };
        names.unk = token_of("tokenizer.ggml.unknown_token_id", usual(0));
        names.bos = token_of("tokenizer.ggml.bos_token_id", usual(1));
        names.eos = token_of("tokenizer.ggml.eos_token_id", usual(2));
        names.pad = token_of("tokenizer.ggml.padding_token_id");
        return names;
    }

    std::string settings() const {
        const auto known = names();
        Json json{{"tokenizer_class", "PreTrainedTokenizerFast"}};
        for (const auto& [key, token] :
             {std::pair("bos_token", &known.bos), std::pair("eos_token", &known.eos),
              std::pair("pad_token", &known.pad), std::pair("unk_token", &known.unk)})
            if (!token->empty()) json[key] = *token;
        return json.dump(2) + "\n";
    }

    // What stands around a text; null: nothing.
    Json frame(bool begins) const {
        const auto known = names();
        const bool bos = keys_.flag("tokenizer.ggml.add_bos_token", begins) && !known.bos.empty();
        const bool eos = keys_.flag("tokenizer.ggml.add_eos_token", false) && !known.eos.empty();
        if (!bos && !eos) return nullptr;
        Json tokens = Json::object();
        const auto special = [&](const std::string& token) {
            tokens[token] = {{"id", token}, {"ids", {numbers_.at(token)}}, {"tokens", {token}}};
            return Json{{"SpecialToken", {{"id", token}, {"type_id", 0}}}};
        };
        const auto framed = [&](const char* which, Json& parts) {
            if (bos) parts.push_back(special(known.bos));
            parts.push_back({{"Sequence", {{"id", which}, {"type_id", 0}}}});
            if (eos) parts.push_back(special(known.eos));
        };
        Json single = Json::array(), pair = Json::array();
        framed("A", single);
        framed("A", pair);
        framed("B", pair);
        return {
            {"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}};
    }

    const Cut& cut() const {
        constexpr const char* key = "tokenizer.ggml.pre";
        const auto name = keys_.text(key, "gpt-2");
        std::string known;
        for (const auto& one : cuts()) {
            if (one.name == name) return one.cut;
            base::add_item(known, one.name);
        }
        keys_.refuse(key, "one of " + known);
    }

    static Json byte_level(bool by_gpt2) {
        return {{"type", "ByteLevel"},
                {"add_prefix_space", false},
                {"trim_offsets", true},
                {"use_regex", by_gpt2}};
    }

    Json byte_pairs() const {
        const auto& words = cut();
        Json parts = Json::array();
        for (const auto* expression : words.expressions)
            parts.push_back({{"type", "Split"},
                             {"pattern", {{"Regex", expression}}},
                             {"behavior", "Isolated"},
                             {"invert", false}});
        parts.push_back(byte_level(words.by_gpt2));
        Json merges = Json::array();
        for (const auto& merge : keys_.texts("tokenizer.ggml.merges")) {
            if (const auto fault = utf8_problem(merge); !fault.empty())
                fail("tokenizer.ggml.merges", "merge " + std::to_string(merges.size()) + " " + fault);
            merges.push_back(merge);
        }
        return {{"normalizer", nullptr},
                {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", parts}}},
                {"post_processor", frame(words.begins)},
                {"decoder", byte_level(true)},
                {"model",
                 {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", nullptr},
                  {"ignore_merges", words.whole_words},
                  {"vocab", vocabulary()},
                  {"merges", merges}}}};
    }

    // Every way to put a token together from two others, the best scores first; of equal ones the longest.
    Json merges_by_score() const {
        const auto scores = keys_.numbers("tokenizer.ggml.scores");
        if (scores.size() != tokens_.size())
            fail("tokenizer.ggml.scores", "expected a score for each of " + std::to_string(tokens_.size()) +
                                              " tokens, got " + std::to_string(scores.size()));
        struct Merge {
            double score;
            std::string_view left, right;
        };
        std::vector<Merge> merges;
        for (std::size_t i = 0; i < tokens_.size(); ++i) {
            const std::string_view token = tokens_[i];
            if (!is(i, TokenType::normal) || token.size() > longest_piece) continue;
            for (std::size_t at = 1; at < token.size(); ++at) {
                const auto left = token.substr(0, at), right = token.substr(at);
                if (is_piece(left) && is_piece(right)) merges.push_back({scores[i], left, right});
            }
        }
        std::stable_sort(merges.begin(), merges.end(),
                         [](const Merge& a, const Merge& b) { return a.score > b.score; });
        Json list = Json::array();
        for (const auto& merge : merges)
            list.push_back(Json::array({std::string(merge.left), std::string(merge.right)}));
        return list;
    }

    bool is_piece(std::string_view text) const {
        const auto found = numbers_.find(std::string(text));
        return found != numbers_.end() && is(found->second, TokenType::normal);
    }

    Json sentencepiece() const {
        constexpr const char* space = "\u2581";
        const bool prefixed = keys_.flag("tokenizer.ggml.add_space_prefix", true);
        Json spelling = Json::array();
        if (prefixed) spelling.push_back({{"type", "Prepend"}, {"prepend", space}});
        spelling.push_back({{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", space}});
        Json back = Json::array({{{"type", "Replace"}, {"pattern", {{"String", space}}}, {"content", " "}},
                                 {{"type", "ByteFallback"}},
                                 {{"type", "Fuse"}}});
        if (prefixed) back.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
        const auto unknown = names().unk;
        return {{"normalizer", {{"type", "Sequence"}, {"normalizers", spelling}}},
                {"pre_tokenizer", nullptr},
                {"post_processor", frame(true)},
                {"decoder", {{"type", "Sequence"}, {"decoders", back}}},
                {"model",
                 {{"type", "BPE"},
                  {"dropout", nullptr},
                  {"unk_token", unknown.empty() ? Json() : Json(unknown)},
                  {"fuse_unk", true},
                  {"byte_fallback", true},
                  {"vocab", vocabulary()},
                  {"merges", merges_by_score()}}}};
    }

    static constexpr std::size_t longest_piece = 512;  // in bytes; SentencePiece's own have 16 characters

    const gguf::File& file_;
    gguf::MetadataReader keys_;
    std::vector<std::string> tokens_;
    std::unordered_map<std::string, std::size_t> numbers_;
    std::vector<std::int64_t> types_;
};

}  // namespace

GgufTokenizer read_gguf_tokenizer(const gguf::File& file) { return Conversion(file).run(); }

}  // namespace switchyard::data

#include "core/workbench/data/tokenizers/open_tokenizer.h"

#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/bert_files.h"
#include "core/workbench/data/tokenizers/byte_tokenizer.h"
#include "core/workbench/data/tokenizers/gguf_tokenizer.h"
#include "core/workbench/data/tokenizers/gpt2_files.h"
#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/data/tokenizers/pipeline/tokenizer_json.h"
#include "core/workbench/data/tokenizers/sentencepiece_tokenizer.h"
#include "core/workbench/data/tokenizers/smiles_tokenizer.h"
#include "core/workbench/data/tokenizers/vocabulary_file.h"
#include "core/workbench/data/tokenizers/wordpiece.h"

namespace switchyard::data {
namespace {

template <class Opened>
OpenedTokenizer opened(Opened result) {
    if (!result.tokenizer) return {nullptr, {std::move(result.error)}};
    return {std::move(result.tokenizer), {}};
}

OpenedTokenizer from_molecules(config::DataConfig data) {
    data.eval.clear();
    data.target_eval.clear();
    std::set<std::string> tokens;
    const auto use = [&](const RowWay&, const Row& row) {
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            std::set<std::string> here;
            std::size_t at = 0;
            if (auto fault = collect_smiles_tokens(row.values[i], here, at); !fault.empty())
                return RowUse{false, false, std::move(fault), data.bad_row, i, at};
            tokens.merge(here);
        }
        return RowUse{};
    };
    Splits splits;
    read_splits(text_request(data, {data.target_column}), use, splits);
    if (splits.problems.empty() && tokens.empty())
        splits.problems.emplace_back("data.train: holds no molecule to make a vocabulary of");
    if (!splits.problems.empty()) return {nullptr, std::move(splits.problems)};
    return {SmilesTokenizer::from_tokens(tokens), {}};
}

// "FILE: error: what" without "error: ": the message that it becomes a part of says that already.
std::string without_error(std::string text) {
    if (const auto word = text.find(": error: "); word != std::string::npos) text.erase(word + 2, 7);
    return text;
}

TokenizerFile read_file(const std::string& path) {
    auto bytes = base::read_text(path, base::limits::vocabulary_bytes);
    if (!bytes) throw base::InputError(not_opened(path) + "; expected the file of a tokenizer");
    return {path, std::move(*bytes)};
}

// BERT's words from a folder's vocab.txt, as the settings beside it say.
OpenedTokenizer words_of_folder(const TokenizerFile& vocabulary, const ModelSettings& settings,
                                std::vector<TokenizerFile> kept, const config::DataConfig& data) {
    const bool lower = settings.lower_case.value_or(data.lower_case);
    const bool plain =
        settings.split_ideographs.value_or(true) && settings.strip_accents.value_or(lower) == lower;
    if (!plain)
        return {nullptr,
                {vocabulary.name +
                 ": tokenize_chinese_chars and strip_accents of tokenizer_config.json are not taken with a "
                 "vocab.txt; expected a tokenizer.json that says so"}};
    if (!has_more_tokens(settings)) leave_out_added_tokens(kept);
    if (kept.size() == 1)  // nothing stands beside it that says something
        return opened(WordPiece::open(vocabulary.name, {.lower_case = data.lower_case}));
    auto made = WordPiece::from_text(vocabulary.bytes, vocabulary.name, {.lower_case = lower, .files = kept});
    if (made.tokenizer && has_more_tokens(settings))
        return {read_bert_files(vocabulary, settings, lower, std::move(kept)), {}};
    return opened(std::move(made));
}

// RUN/tokenizer: the run learnt from texts as the tokenizer.json there spells them.
bool is_kept_by_run(const std::string& file) {
    const auto folder = std::filesystem::path(file).parent_path();
    std::error_code ignored;
    return folder.filename() == "tokenizer" &&
           std::filesystem::exists(folder.parent_path() / "record.json", ignored);
}

// How transformers makes a BERT's tokenizer spell texts: by tokenizer_config.json and, where that says
// nothing, as the class does by default, whatever tokenizer.json says. Throws InputError where the two spell
// texts differently.
void check_spelling(const TokenizerFile& file, const ModelSettings& settings) {
    const std::string_view named = settings.tokenizer_class;
    if (!(named.ends_with("BertTokenizer") || named.ends_with("BertTokenizerFast"))) return;
    const auto object = base::parse_object(file.bytes, file.name);
    const auto& normalizer = base::member(object, "normalizer");
    if (base::text_of(normalizer, "type") != "BertNormalizer" || is_kept_by_run(file.name)) return;
    const auto text = [](bool flag) { return std::string(flag ? "true" : "false"); };
    // `otherwise`: what null and a setting that is not there stand for, here and in transformers.
    const auto check = [&](const std::string& key, const std::string& setting, std::optional<bool> said,
                           bool here_otherwise, bool otherwise) {
        const auto& is = base::member(normalizer, key.c_str());
        const bool here = is.is_boolean() ? is.get<bool>() : here_otherwise;
        const bool there = said.value_or(otherwise);
        if (here == there) return;
        throw base::InputError(
            file.name + ": error: normalizer." + key + ": is " + (is.is_boolean() ? text(here) : "null") +
            ", but transformers spells texts for " + base::quoted(named) + " by " + setting +
            " of tokenizer_config.json, which is " + (said ? "" : "not there and so ") + text(there) +
            "; expected normalizer." + key + " = " + text(there) + ", as transformers has it, or " + setting +
            " = " + text(here));
    };
    const bool lower = settings.lower_case.value_or(true);
    check("lowercase", "do_lower_case", settings.lower_case, lower, true);
    check("handle_chinese_chars", "tokenize_chinese_chars", settings.split_ideographs, true, true);
    check("strip_accents", "strip_accents", settings.strip_accents, lower, lower);
}

OpenedTokenizer read_gguf(const std::string& path) {
    const auto opened = gguf::File::open(path);
    if (!opened.file) return {nullptr, {opened.error}};
    const auto read = read_gguf_tokenizer(*opened.file);
    std::vector<TokenizerFile> kept{{"tokenizer.json", read.json}, {"tokenizer_config.json", read.settings}};
    return {read_tokenizer_json(read.json, path, read.names, std::move(kept)), {}};
}

OpenedTokenizer read_files(const config::DataConfig& data, const TokenizerSource& source) {
    using Kind = config::TokenizerKind;
    if (gguf::is_gguf_file(source.files.front())) return read_gguf(source.files.front());
    if (source.kind == Kind::smiles) return opened(SmilesTokenizer::open(source.files.front()));
    if (source.kind == Kind::wordpiece && source.settings.empty())
        return opened(WordPiece::open(source.files.front(), {.lower_case = data.lower_case}));
    std::vector<TokenizerFile> own, said, kept;
    for (const auto& path : source.files) own.push_back(read_file(path));
    for (const auto& path : source.settings) said.push_back(read_file(path));
    for (const auto* files : {&own, &said}) {
        for (const auto& file : *files)
            kept.push_back({std::filesystem::path(file.name).filename().string(), file.bytes});
    }
    const auto settings = read_model_settings(said, source.kind != Kind::huggingface);
    // By whatever names they were read, in a folder they are found by their own.
    if (source.kind == Kind::huggingface) kept[0].name = "tokenizer.json";
    if (source.kind == Kind::gpt2) kept[0].name = "vocab.json";
    if (source.kind == Kind::sentencepiece && kept[0].name != "spiece.model")
        kept[0].name = "tokenizer.model";
    if (!settings.added_file.ends_with(added_tokens_file)) leave_out_added_tokens(kept);
    switch (source.kind) {
        case Kind::wordpiece:
            return words_of_folder(own[0], settings, std::move(kept), data);
        case Kind::gpt2:
            return {read_gpt2_files(own[0], own[1], settings, std::move(kept)), {}};
        case Kind::sentencepiece:
            return {std::make_shared<SentencePieceTokenizer>(own[0], settings, std::move(kept)), {}};
        default:
            check_spelling(own[0], settings);
            return {read_tokenizer_json(own[0].bytes, own[0].name, settings.names, std::move(kept)), {}};
    }
}

}  // namespace

OpenedTokenizer open_tokenizer_files(const config::DataConfig& data, const TokenizerSource& source) {
    OpenedTokenizer result;
    try {
        result = read_files(data, source);
    } catch (const base::InputError& error) {
        result.problems = {without_error(error.what())};
    }
    result.key = source.key;
    return result;
}

OpenedTokenizer open_tokenizer(const config::DataConfig& data, const std::string& weights) {
    using Kind = config::TokenizerKind;
    if (data.tokenizer == Kind::bytes) return {std::make_shared<ByteTokenizer>(), {}};
    if (data.tokenizer == Kind::smiles && data.vocabulary.empty()) return from_molecules(data);
    const auto source = find_tokenizer(data, weights);
    if (!source.error.empty()) return {nullptr, {source.error}, source.key};
    return open_tokenizer_files(data, source);
}

std::string missing_special(const Tokenizer& tokenizer, config::TaskKind task, const std::string& name) {
    using Task = config::TaskKind;
    const auto& ids = tokenizer.specials();
    const auto lacks = [&](std::int64_t id, const char* what) {
        return id >= 0 ? std::string()
                       : name + " has no " + what + ", which task.kind = \"" +
                             std::string(switchyard::name(task)) + "\" needs";
    };
    const std::string no_mask = lacks(ids.mask, "mask token ([MASK], <mask>)");
    const std::string no_begin = lacks(ids.bos, "token that begins a text ([CLS], <s>)");
    const std::string no_end = lacks(ids.eos, "token that ends a text ([SEP], </s>)");
    const std::string no_padding = lacks(ids.pad, "padding token (<pad>), with which an answer begins");
    switch (task) {
        case Task::masked_lm:
            return no_mask;
        case Task::causal_lm:
            return no_end;
        case Task::seq2seq:
            return no_end.empty() ? no_padding : no_end;
        case Task::next_sentence:
            return no_begin.empty() ? no_end : no_begin;
        default:
            return "";
    }
}

}  // namespace switchyard::data

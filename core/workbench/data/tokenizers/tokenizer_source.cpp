#include "core/workbench/data/tokenizers/tokenizer_source.h"

#include <array>
#include <filesystem>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/tokenizers/model_settings.h"
#include "core/workbench/gguf/gguf_file.h"

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;
using Kind = config::TokenizerKind;

struct Candidate {
    Kind kind;
    std::vector<std::string> names;
};

// In the order in which a folder is asked for them.
const std::vector<Candidate>& candidates() {
    static const std::vector<Candidate> all{
        {Kind::huggingface, {"tokenizer.json"}}, {Kind::gpt2, {"vocab.json", "merges.txt"}},
        {Kind::sentencepiece, {"spiece.model"}}, {Kind::sentencepiece, {"tokenizer.model"}},
        {Kind::wordpiece, {"vocab.txt"}},        {Kind::smiles, {"vocab.txt"}}};
    return all;
}

bool is_there(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool is_folder(const std::string& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

std::string listed(Kind kind) {
    std::string text;
    for (const auto& candidate : candidates()) {
        if (candidate.kind == Kind::smiles ? kind != Kind::smiles
                                           : kind != Kind::automatic && kind != candidate.kind)
            continue;
        std::string names;
        for (const auto& name : candidate.names) names += (names.empty() ? "" : " with ") + name;
        text += (text.empty() ? "" : ", ") + names;
    }
    return text;
}

void add_settings(const std::string& folder, TokenizerSource& source) {
    for (const auto& name : settings_files) {
        if (name == added_tokens_file && source.kind == Kind::huggingface) continue;  // it has them itself
        const auto path = (fs::path(folder) / name).string();
        if (is_there(path)) source.settings.push_back(path);
    }
}

void look_in_folder(const std::string& folder, TokenizerSource& source) {
    source.of_folder = true;
    const auto wanted = source.kind;
    for (const auto& [kind, names] : candidates()) {
        if (wanted == Kind::automatic ? kind == Kind::smiles : kind != wanted) continue;
        std::vector<std::string> paths;
        for (const auto& name : names) paths.push_back((fs::path(folder) / name).string());
        bool all = true;
        for (const auto& path : paths) all = all && is_there(path);
        if (!all) continue;
        source.kind = kind;
        source.files = std::move(paths);
        if (kind != Kind::smiles) add_settings(folder, source);
        return;
    }
    source.error =
        folder + ": is a folder without a tokenizer; expected " + listed(wanted) + " in it" +
        (wanted == Kind::automatic ? ", or data.tokenizer = \"bytes\" where its tokens are bytes" : "");
}

Kind kind_of_name(const std::string& name) {
    if (name == "vocab.json" || name == "merges.txt") return Kind::gpt2;
    if (name.ends_with(".json") || name.ends_with(".gguf")) return Kind::huggingface;
    return name.ends_with(".model") ? Kind::sentencepiece : Kind::wordpiece;
}

void take_file(const std::string& path, TokenizerSource& source) {
    const fs::path file(path);
    if (source.kind == Kind::automatic) source.kind = kind_of_name(file.filename().string());
    source.files = {path};
    if (source.kind == Kind::gpt2) {
        const bool merges = file.filename() == "merges.txt";
        const auto vocabulary = merges ? file.parent_path() / "vocab.json" : file;
        source.files = {vocabulary.string(), (file.parent_path() / "merges.txt").string()};
    }
    const bool own =
        source.kind == Kind::wordpiece || source.kind == Kind::smiles || gguf::is_gguf_file(path);
    if (!own) add_settings(file.parent_path().string(), source);
}

// What it holds is what a tokenizer.json holds.
void take_gguf(const std::string& path, TokenizerSource& source) {
    if (source.kind == Kind::automatic) source.kind = Kind::huggingface;
    source.files = {path};
    if (source.kind != Kind::huggingface)
        source.error = path + ": is a GGUF file; expected " + listed(source.kind) +
                       ", or data.tokenizer = \"huggingface\" for the tokenizer in it";
}

TokenizerSource source_of(const config::DataConfig& data, const std::string& weights) {
    TokenizerSource source;
    source.kind = data.tokenizer;
    if (source.kind == Kind::bytes || (source.kind == Kind::smiles && data.vocabulary.empty())) return source;
    if (!data.vocabulary.empty()) {
        source.key = "data.vocabulary";
        if (is_folder(data.vocabulary))
            look_in_folder(data.vocabulary, source);
        else
            take_file(data.vocabulary, source);
        return source;
    }
    source.key = weights.empty() ? "data.vocabulary" : "train.weights";
    if (weights.empty())
        source.error = "expected the path of " + listed(source.kind) + ", or of a folder with it";
    else if (is_folder(weights))
        look_in_folder(weights, source);
    else if (gguf::is_gguf_file(weights))
        take_gguf(weights, source);
    else
        source.error = weights + ": is no folder, and so has no tokenizer; name one in data.vocabulary";
    return source;
}

}  // namespace

TokenizerSource find_tokenizer(const config::DataConfig& data, const std::string& weights) {
    auto source = source_of(data, weights);
    source.error = base::printable(source.error);  // names begin no line of their own
    return source;
}

std::string tokenizer_line(const TokenizerSource& source) {
    if (source.files.empty()) return "";
    std::string line = source.files.front();
    for (std::size_t i = 1; i < source.files.size(); ++i)
        line += " with " + fs::path(source.files[i]).filename().string();
    const bool weights = std::string_view(source.key) == "train.weights";
    return line + (weights ? ", the tokenizer of train.weights" : ", named by data.vocabulary");
}

}  // namespace switchyard::data

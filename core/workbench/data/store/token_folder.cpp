#include "core/workbench/data/store/token_folder.h"

#include <filesystem>
#include <stdexcept>

#include <xxhash.h>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::data {
namespace {

using base::Json;

Json rows_json(const RowCounts& rows) {
    return {{"read", rows.read},
            {"used", rows.used},
            {"skipped", rows.skipped},
            {"empty", rows.empty},
            {"invalid_utf8", rows.invalid_utf8},
            {"with_nul", rows.with_nul}};
}

RowCounts rows_from(const Json& json) {
    RowCounts rows;
    rows.read = base::needed_integer(json, "read");
    rows.used = base::needed_integer(json, "used");
    rows.skipped = base::needed_integer(json, "skipped");
    rows.empty = base::needed_integer(json, "empty");
    rows.invalid_utf8 = base::needed_integer(json, "invalid_utf8");
    rows.with_nul = base::needed_integer(json, "with_nul");
    return rows;
}

Json file_json(const TokenFileHeader& header) {
    return {{"texts", header.texts},
            {"tokens", header.tokens},
            {"longest", header.longest},
            {"bytes", header.file_bytes()},
            {"checksum", checksum_text(header.checksum)}};
}

// That file, if it is the one that store.json names.
std::shared_ptr<const TokenFile> open_file(const std::string& path, const Json& described) {
    auto file = std::make_shared<TokenFile>(path);
    if (checksum_text(file->header().checksum) != base::needed_text(described, "checksum"))
        throw base::InputError(path +
                               ": is not the file that store.json beside it describes; `switchyard data "
                               "prepare` makes it again");
    return file;
}

}  // namespace

bool is_token_folder(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path + "/store.json", error);
}

TokenFolder open_token_folder(const std::string& path) {
    const auto name = path + "/store.json";
    const auto json = base::parse_object(base::read_text(name).value_or(""), name);
    TokenFolder folder;
    folder.path = path;
    try {
        const auto& files = base::needed(json, "files");
        folder.made_with = base::needed(json, "made_with");
        folder.train_rows = rows_from(base::needed(json, "rows"));
        folder.eval_rows = rows_from(base::needed(json, "eval_rows"));
        folder.also_in_train = base::needed_integer(json, "also_in_train");
        folder.train = open_file(path + "/train.tokens", base::needed(files, "train"));
        if (const auto& eval = base::member(files, "eval"); eval.is_object())
            folder.eval = open_file(path + "/eval.tokens", eval);
    } catch (const base::InputError& error) {
        const std::string what = error.what();
        throw base::InputError(what.starts_with(path) ? what : name + ": " + what);
    }
    return folder;
}

Json token_shape(const config::DataConfig& data, const Tokenizer& tokenizer) {
    std::string files;
    for (const auto& file : tokenizer.files()) {
        // One model of SentencePiece goes by two names, by the class of the model whose tokens it makes.
        files += (file.name == "spiece.model" ? "tokenizer.model" : file.name) + '\0' + file.bytes;
    }
    Json shape{{"data.vocabulary", std::to_string(tokenizer.size()) + " tokens, XXH3 " +
                                       checksum_text(XXH3_64bits(files.data(), files.size()))},
               {"data.lower_case", data.lower_case ? "true" : "false"},
               {"data.text_column", data.text_column},
               {"data.documents", std::string(name(data.documents))},
               {"data.max_rows", std::to_string(data.max_rows)}};
    if (data.eval.empty()) shape["data.eval_fraction"] = Json(data.eval_fraction).dump();
    return shape;
}

std::vector<std::string> differences(const TokenFolder& folder, const config::DataConfig& data,
                                     const Tokenizer& tokenizer) {
    std::vector<std::string> problems;
    const auto shape = token_shape(data, tokenizer);
    for (const auto& [key, value] : shape.items()) {
        const auto held = base::text_of(folder.made_with, key.c_str());
        const bool held_out = key == "data.eval_fraction" && held.empty();  // it has files of evaluation
        if (held == value.get<std::string>() || held_out) continue;
        problems.push_back(key + ": expected " + (held.empty() ? "none" : base::quoted(held)) +
                           ", with which the token store " + folder.path + " was made, got " +
                           base::quoted(value.get<std::string>()) +
                           "; `switchyard data prepare` makes a store with that");
    }
    return problems;
}

std::string token_folder_text(const Json& shape, const Splits& counts, const TokenFileHeader& train,
                              const TokenFileHeader* eval) {
    Json files{{"train", file_json(train)}};
    if (eval != nullptr) files["eval"] = file_json(*eval);
    return Json{{"format", 1},
                {"made_with", shape},
                {"files", files},
                {"rows", rows_json(counts.train_rows)},
                {"eval_rows", rows_json(counts.eval_rows)},
                {"also_in_train", counts.also_in_train}}
               .dump(2) +
           "\n";
}

}  // namespace switchyard::data

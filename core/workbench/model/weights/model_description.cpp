#include "core/workbench/model/weights/model_description.h"

#include <filesystem>
#include <utility>

#include "core/workbench/model/weights/gguf_model.h"
#include "core/workbench/model/weights/huggingface_config.h"

namespace switchyard::model {
namespace {

ModelDescription of_gguf(const std::string& path) {
    const auto opened = gguf::File::open(path);
    if (!opened.file) return {path, std::nullopt, {}, {}, opened.error};
    auto read = read_gguf_model(*opened.file);
    if (!read.error.empty()) return {path, std::nullopt, {}, {}, std::move(read.error)};
    return {path, read.model, {}, std::move(read.notes), ""};
}

}  // namespace

ModelDescription describe_weights(const std::string& weights) {
    if (gguf::is_gguf_file(weights)) return of_gguf(weights);
    std::error_code ignored;
    const auto file = weights + "/config.json";
    if (!std::filesystem::exists(file, ignored)) return {};
    auto read = read_huggingface_config(file);
    if (!read.error.empty()) return {file, std::nullopt, {}, {}, std::move(read.error)};
    return {file, read.model, std::move(read.labels), std::move(read.notes), ""};
}

std::vector<std::string> differences(const config::ModelConfig& ours, const ModelDescription& theirs) {
    if (!theirs.model) return {};
    const bool json = std::filesystem::path(theirs.file).filename() == "config.json";
    auto found = differences(ours, *theirs.model, json ? "config.json" : "the file");
    for (auto& one : found) one = theirs.file + ": not the configured model: model." + one;
    return found;
}

}  // namespace switchyard::model

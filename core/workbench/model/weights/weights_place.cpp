#include "core/workbench/model/weights/weights_place.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace switchyard::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* one_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr const char* as_safetensors =
    "expected safetensors; in Python, transformers' save_pretrained(FOLDER, safe_serialization=True) writes "
    "it";
constexpr const char* as_one_file =
    "expected one model.safetensors; in Python, transformers' save_pretrained(FOLDER, "
    "max_shard_size=\"100GB\") "
    "writes it";

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool is_index(std::string_view name) { return name.ends_with(".safetensors.index.json"); }

// Files of Python objects: PyTorch's old and new form (a zip archive), and GGUF, by their first bytes; else
// by their names.
std::string other_format(const std::string& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return "is not a regular file";
    std::array<char, 4> head{};
    std::ifstream(path, std::ios::binary).read(head.data(), head.size());
    const std::string_view start(head.data(), head.size());
    const std::string_view name(path);
    if (start == "GGUF") return "is a GGUF file";
    const bool pickled = start == "PK\x03\x04" || start.substr(0, 2) == "\x80\x02";
    if (pickled || name.ends_with(".bin") || name.ends_with(".pt") || name.ends_with(".pth") ||
        name.ends_with(".ckpt"))
        return "is a file of Python objects (pickle), which runs code when it is read";
    return "";
}

// The first file of Python objects in a folder.
std::string pickle_in(const fs::path& folder) {
    std::error_code error;
    std::string first;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
        const auto name = entry.path().filename().string();
        if (name.ends_with(".bin") && (first.empty() || name < first)) first = name;
    }
    return first;
}

std::string problem_of_folder(const std::string& path) {
    if (is_there(fs::path(path) / index_file))
        return std::string("holds weights in several files (") + index_file + "); " + as_one_file;
    if (const auto pickle = pickle_in(path); !pickle.empty())
        return "holds " + pickle + ", which is a file of Python objects (pickle); " + as_safetensors;
    const std::string none = std::string("is a folder without a ") + one_file;
    if (is_there(fs::path(path) / "model" / one_file)) return none + "; did you mean " + path + "/model?";
    return none + "; expected a folder of Hugging Face's, or a safetensors file";
}

}  // namespace

WeightsPlace find_weights(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        const auto file = path + "/" + one_file;
        return {file, is_there(file) ? "" : path + ": " + problem_of_folder(path)};
    }
    if (!is_there(path))
        return {path, path + ": is not there; expected a folder of Hugging Face's, or a safetensors file"};
    if (is_index(path)) return {path, path + ": is the index of weights in several files; " + as_one_file};
    const auto other = other_format(path);
    return {path, other.empty() ? "" : path + ": " + other + "; " + as_safetensors};
}

}  // namespace switchyard::model

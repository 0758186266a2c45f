#include "core/workbench/model/weights/weights_place.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/read_text.h"
#include "core/workbench/gguf/gguf_file.h"

namespace switchyard::model {
namespace {

namespace fs = std::filesystem;

constexpr const char* one_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";
constexpr const char* as_safetensors =
    "expected safetensors; in Python, transformers' save_pretrained(FOLDER, safe_serialization=True) writes "
    "it";

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

bool is_index(std::string_view name) { return name.ends_with(".safetensors.index.json"); }

// Files of Python objects: PyTorch's old and new form (a zip archive), by their first bytes, else by their
// names.
std::string other_format(const std::string& path) {
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) return "is not a regular file";
    std::array<char, 4> head{};
    std::ifstream(path, std::ios::binary).read(head.data(), head.size());
    const std::string_view start(head.data(), head.size());
    const std::string_view name(path);
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
    if (const auto pickle = pickle_in(path); !pickle.empty())
        return "holds " + pickle + ", which is a file of Python objects (pickle); " + as_safetensors;
    const std::string none = std::string("is a folder without a ") + one_file;
    if (is_there(fs::path(path) / "model" / one_file)) return none + "; did you mean " + path + "/model?";
    return none + "; expected a folder of Hugging Face's, or a safetensors file";
}

WeightsPlace with_problem(const std::string& path, const std::string& problem) {
    return {path, {}, {}, path + ": " + problem, false};
}

// Names beside the index only: it came from somewhere else, and leads nowhere else.
bool is_beside(const std::string& name) {
    constexpr std::size_t longest = 255;  // of a name on Linux
    return !name.empty() && name.size() <= longest && name.find('/') == std::string::npos && name != "." &&
           name != "..";
}

WeightsPlace read_index(const std::string& path) {
    const auto text = base::read_text(path);
    if (!text) return with_problem(path, "is not there");
    WeightsPlace place{path, {}, {}, {}, false};
    try {
        const auto index = base::parse_object(*text, path);
        const auto map = index.find("weight_map");
        if (map == index.end() || !map->is_object() || map->empty())
            return with_problem(path, "expected \"weight_map\" with the file of each tensor");
        const auto folder = fs::path(path).parent_path();
        for (const auto& [tensor, name] : map->items()) {
            if (!name.is_string() || !is_beside(name.get<std::string>()))
                return with_problem(
                    path,
                    "weight_map: " + base::quoted(tensor) + ": expected the name of a file beside it, got " +
                        base::quoted(name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
            const auto file = (folder / name.get<std::string>()).string();
            if (!is_there(file)) return with_problem(file, "is not there; " + path + " names it");
            place.file_of[tensor] = file;
        }
    } catch (const base::InputError& error) {
        return {path, {}, {}, error.what(), false};
    }
    std::set<std::string> files;
    for (const auto& [tensor, file] : place.file_of) files.insert(file);
    place.files.assign(files.begin(), files.end());
    return place;
}

}  // namespace

WeightsPlace find_weights(const std::string& path) {
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
        const auto file = path + "/" + one_file;
        if (is_there(file)) return {file, {file}, {}, {}, false};
        const auto index = path + "/" + index_file;
        return is_there(index) ? read_index(index) : with_problem(path, problem_of_folder(path));
    }
    if (!is_there(path))
        return with_problem(
            path, "is not there; expected a folder of Hugging Face's, a safetensors file or a GGUF file");
    if (is_index(path)) return read_index(path);
    if (gguf::is_gguf_file(path)) return {path, {path}, {}, {}, true};
    const auto other = other_format(path);
    return other.empty() ? WeightsPlace{path, {path}, {}, {}, false}
                         : with_problem(path, other + "; " + as_safetensors);
}

std::vector<std::string> missing_tensors(
    const WeightsPlace& place, const std::map<std::string, std::shared_ptr<const SafetensorsFile>>& files) {
    std::vector<std::string> problems;
    for (const auto& [tensor, path] : place.file_of) {
        if (files.at(path)->find(tensor) == nullptr)
            problems.push_back(path + ": has no tensor '" + tensor + "', which " + place.file +
                               " says is there");
    }
    return problems;
}

}  // namespace switchyard::model

#include "core/workbench/model/weights/weights_place.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/number_text.h"
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

// Bytes of one of a tensor's numbers, in whatever format.
constexpr double smallest_number = 0.5, largest_number = 8.0;

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
    return {path, {}, {}, {}, path + ": " + problem, false};
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
    WeightsPlace place{path, {}, {}, {}, {}, false};
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
            if (!is_there(file))
                return with_problem(base::printable(file), "is not there; " + path + " names it");
            place.file_of[tensor] = file;
        }
        const auto metadata = index.find("metadata");
        if (metadata != index.end() && metadata->is_object() && metadata->contains("total_size")) {
            const auto& size = (*metadata)["total_size"];
            if (!size.is_number() && !size.is_null())
                return with_problem(path, "metadata.total_size: expected a number of bytes, got " +
                                              base::quoted(size.dump(
                                                  -1, ' ', false, nlohmann::json::error_handler_t::replace)));
            if (size.is_number()) place.total_size = size.get<double>();
        }
    } catch (const base::InputError& error) {
        return {path, {}, {}, {}, error.what(), false};
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
        if (is_there(file)) return {file, {file}, {}, {}, {}, false};
        const auto index = path + "/" + index_file;
        return is_there(index) ? read_index(index) : with_problem(path, problem_of_folder(path));
    }
    if (!is_there(path))
        return with_problem(
            path, "is not there; expected a folder of Hugging Face's, a safetensors file or a GGUF file");
    if (is_index(path)) return read_index(path);
    if (gguf::is_gguf_file(path)) return {path, {path}, {}, {}, {}, true};
    const auto other = other_format(path);
    return other.empty() ? WeightsPlace{path, {path}, {}, {}, {}, false}
                         : with_problem(path, other + "; " + as_safetensors);
}

IndexDifferences index_differences(
    const WeightsPlace& place, const std::map<std::string, std::shared_ptr<const SafetensorsFile>>& files) {
    IndexDifferences found;
    double bytes = 0.0, numbers = 0.0;
    for (const auto& [tensor, path] : place.file_of) {
        const auto* const stored = files.at(path)->find(tensor);
        if (stored == nullptr) {
            found.problems.push_back(path + ": has no tensor '" + base::quoted(tensor) + "', which " +
                                     place.file + " says is there");
            continue;
        }
        bytes += static_cast<double>(stored->bytes);
        numbers += static_cast<double>(stored->bytes / stored->type->bytes);
    }
    if (!found.problems.empty() || !place.total_size || *place.total_size == bytes) return found;
    const auto text = place.file + ": metadata.total_size says " + base::fixed(*place.total_size, 0) +
                      " bytes, and the tensors that it names have " + base::fixed(bytes, 0);
    if (*place.total_size < smallest_number * numbers || *place.total_size > largest_number * numbers)
        found.problems.push_back(text +
                                 "; expected the index and the files of one model: get all of them "
                                 "anew, or take total_size out of the index");
    else
        found.note = text;
    return found;
}

}  // namespace switchyard::model

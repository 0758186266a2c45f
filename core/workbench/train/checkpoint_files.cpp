#include "core/workbench/train/checkpoint_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "core/kernel/base/input_error.h"
#include "core/kernel/base/json_text.h"
#include "core/kernel/base/read_text.h"

namespace switchyard::train {
namespace {

constexpr std::int64_t most_parts = 99'999;  // of which names have a number each

bool is_file(const std::string& path) {
    std::error_code ignored;
    return std::filesystem::exists(path, ignored);
}

}  // namespace

std::string part_file(std::string_view stem, std::int64_t index, std::int64_t count) {
    const std::string name(stem);
    if (count == 1) return name + ".safetensors";
    char place[64];
    std::snprintf(place, sizeof place, "-%05lld-of-%05lld", static_cast<long long>(index + 1),
                  static_cast<long long>(count));
    return name + place + ".safetensors";
}

std::string index_file(std::string_view stem) { return std::string(stem) + ".safetensors.index.json"; }

std::vector<std::string> CheckpointFiles::of(std::string_view stem) const {
    std::vector<std::string> files;
    for (std::int64_t part = 0; part < parts; ++part) files.push_back(part_file(stem, part, parts));
    if (parts > 1 && stem != optimizer_stem) files.push_back(index_file(stem));
    return files;
}

std::vector<std::string> CheckpointFiles::all() const {
    auto files = of(weights_stem);
    const auto add = [&](const std::vector<std::string>& more) {
        files.insert(files.end(), more.begin(), more.end());
    };
    add(of(optimizer_stem));
    files.emplace_back("state.json");
    if (averaged) add(of(average_stem));
    return files;
}

CheckpointFiles files_of(const std::string& checkpoint) {
    CheckpointFiles files;
    const auto state = base::parse_json(base::text_if_readable(checkpoint + "/state.json")).value;
    const auto& parts = base::member(state, "parts");
    if (parts.is_array() && parts.size() > 1)
        files.parts = std::min(static_cast<std::int64_t>(parts.size()), most_parts);
    files.averaged = is_file(checkpoint + "/" + part_file(average_stem, 0, files.parts));
    return files;
}

}  // namespace switchyard::train

#include "source_files.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>

namespace switchyard::architecture {

namespace fs = std::filesystem;

namespace {

bool is_source(const fs::path& path) {
    static const std::set<std::string> extensions = {".h", ".cpp", ".cu", ".cuh"};
    return extensions.contains(path.extension().string());
}

}  // namespace

std::vector<fs::path> sources_below(const fs::path& root, const std::vector<std::string>& folders) {
    std::vector<fs::path> found;
    for (const auto& folder : folders) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
            if (entry.is_regular_file() && is_source(entry.path())) found.push_back(entry.path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string relative_to(const fs::path& root, const fs::path& path) {
    return path.lexically_relative(root).generic_string();
}

std::vector<std::string> code_lines(const fs::path& file) {
    static const std::regex raw_string("R\"([^( ]*)\\(");
    std::vector<std::string> lines;
    std::ifstream stream(file);
    std::string end_of_raw;
    std::smatch match;
    for (std::string line; std::getline(stream, line);) {
        if (!end_of_raw.empty()) {
            const auto end = line.find(end_of_raw);
            line = end == std::string::npos ? "" : line.substr(end + end_of_raw.size());
            if (end != std::string::npos) end_of_raw.clear();
        }
        line = line.substr(0, line.find("//"));
        if (std::regex_search(line, match, raw_string)) {
            std::string end(1, ')');
            end.append(match[1].str()).append(1, '"');
            if (match.suffix().str().find(end) == std::string::npos) end_of_raw = end;
            line = match.prefix();
        }
        lines.push_back(line);
    }
    return lines;
}

}  // namespace switchyard::architecture

// Paths that comments and documents name exist.
#include "rules.h"

#include <algorithm>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace switchyard::architecture {
namespace {

namespace fs = std::filesystem;

// "a/{b,c}.h" is a/b.h and a/c.h.
std::vector<std::string> expanded(const std::string& text) {
    const auto open = text.find('{'), close = text.find('}');
    if (open == std::string::npos || close == std::string::npos) return {text};
    std::vector<std::string> all;
    std::istringstream parts(text.substr(open + 1, close - open - 1));
    for (std::string part; std::getline(parts, part, ',');)
        all.push_back(text.substr(0, open) + part + text.substr(close + 1));
    return all;
}

const std::set<std::string> folders = {"core",     "sdk",  "plugins", "tests",
                                       "examples", "docs", "configs", "cmake"};
const std::set<std::string> of_other_projects = {"docs/examples/fp8_primer", "examples/88_hopper_fmha"};

// What a line says to readers: all of a document, else what follows "//" or "#".
std::string said(const std::string& line, const std::string& extension) {
    static const std::set<std::string> sources = {".h", ".cpp", ".cu", ".cuh"};
    if (extension == ".md") return line;
    const auto sign = line.find(sources.contains(extension) ? "//" : "#");
    return sign == std::string::npos ? "" : line.substr(sign);
}

std::vector<fs::path> files_to_read(const fs::path& root) {
    static const std::set<std::string> extensions = {".h",     ".cpp", ".cu", ".cuh",  ".md",
                                                     ".cmake", ".txt", ".py", ".toml", ".sh"};
    std::vector<fs::path> files;
    const auto add = [&](const fs::directory_entry& entry) {
        if (entry.is_regular_file() && extensions.contains(entry.path().extension().string()))
            files.push_back(entry.path());
    };
    for (const auto& entry : fs::directory_iterator(root)) add(entry);
    for (const auto& folder : folders) {
        if (!fs::exists(root / folder)) continue;
        for (const auto& entry : fs::recursive_directory_iterator(root / folder)) add(entry);
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

Problems check_map(const fs::path& root, const std::string& document, const std::string& heading) {
    std::ifstream stream(root / document);
    Problems problems;
    bool inside = false;
    static const std::regex quoted("`([^` ]*[/.][^` ]*)`");
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with("## ")) inside = line == "## " + heading;
        if (!inside || !line.starts_with("|")) continue;
        fs::path folder;  // a name alone is one of the folder that was named last
        for (std::sregex_iterator at(line.begin(), line.end(), quoted), end; at != end; ++at) {
            for (const auto& path : expanded((*at)[1])) {
                const bool whole = path.find('/') != std::string::npos;
                if (whole)
                    folder = fs::path(path).has_extension() ? fs::path(path).parent_path() : fs::path(path);
                if (!fs::exists(root / path) && (whole || !fs::exists(root / folder / path)))
                    problems.push_back(document + ": " + path + " is named there and does not exist");
            }
        }
    }
    return problems;
}

Problems check_named_paths(const fs::path& root) {
    // Not a part of a longer path, and no pattern ("cuda/device*.h").
    static const std::regex named("(^|[^\\w/.<-])((\\w+)(/[\\w.{},-]*[\\w}])+)(?![\\w/*-])");
    static const std::regex placeholder("/[A-Z]+\\b");  // "tests/NAME"
    Problems problems;
    for (const auto& file : files_to_read(root)) {
        const auto exists = [&](const std::string& path) {
            return fs::exists(root / path) || fs::exists(file.parent_path() / path) ||
                   fs::exists(root / "core/include/switchyard" / path);
        };
        std::ifstream stream(file);
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            const auto text = said(line, file.extension().string());
            for (std::sregex_iterator at(text.begin(), text.end(), named), end; at != end; ++at) {
                if (!folders.contains((*at)[3]) || of_other_projects.contains((*at)[2])) continue;
                for (const auto& path : expanded((*at)[2])) {
                    if (!exists(path) && !std::regex_search(path, placeholder))
                        problems.push_back(file.lexically_relative(root).generic_string() + ":" +
                                           std::to_string(number) + ": " + path + " does not exist");
                }
            }
        }
    }
    return problems;
}

}  // namespace switchyard::architecture

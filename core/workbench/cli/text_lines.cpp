#include "core/workbench/cli/text_lines.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/workbench/cli/output.h"

namespace switchyard::cli {

std::vector<std::string> text_lines(const std::string& path) {
    const bool standard_input = path == "-";
    const std::string name = standard_input ? "standard input" : path;
    std::error_code ignored;
    if (!standard_input && std::filesystem::is_directory(path, ignored))
        throw Failure(name + ": error: is a folder; expected a file with a text a line");
    std::ifstream file;
    if (!standard_input) {
        file.open(path, std::ios::binary);
        if (!file) throw Failure(name + ": error: cannot be opened: " + std::strerror(errno));
    }
    auto& bytes = standard_input ? *std::cin.rdbuf() : *file.rdbuf();
    std::vector<std::string> lines;
    std::string line;
    for (base::Line read; (read = base::next_line(bytes, line)) != base::Line::none;) {
        if (read == base::Line::too_long)
            throw Failure(name + ":" + std::to_string(lines.size() + 1) +
                          ": error: the line is longer than " + std::to_string(base::limits::line_bytes) +
                          " bytes");
        lines.push_back(line);
    }
    return lines;
}

}  // namespace switchyard::cli

#include "core/workbench/cli/text_lines.h"

#include <iostream>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/next_line.h"
#include "core/workbench/cli/command.h"

namespace switchyard::cli {

std::vector<std::string> text_lines() {
    std::vector<std::string> lines;
    std::string line;
    for (base::Line read; (read = base::next_line(*std::cin.rdbuf(), line)) != base::Line::none;) {
        if (read == base::Line::too_long)
            throw Failure("standard input:" + std::to_string(lines.size() + 1) +
                          ": error: the line is longer than " + std::to_string(base::limits::line_bytes) +
                          " bytes");
        lines.push_back(line);
    }
    return lines;
}

std::string text_place(std::size_t text) { return "text " + std::to_string(text + 1); }

}  // namespace switchyard::cli

#include "core/kernel/config/problem.h"

#include "core/kernel/base/limits.h"
#include "core/kernel/base/printable.h"

namespace switchyard::config {
namespace {

// Characters as wide as the line up to the caret: tabs stay tabs, everything else is one blank.
std::string indent_to(const std::string& line, int column) {
    std::string indent;
    int at = 1;
    for (const char c : line) {
        if ((static_cast<unsigned char>(c) & 0xc0) == 0x80) continue;
        if (at++ >= column) break;
        indent += c == '\t' ? '\t' : ' ';
    }
    indent.append(column > at ? static_cast<std::size_t>(column - at) : 0, ' ');
    return indent;
}

// Keys and values of a user may stand in them, and begin no line of their own.
std::string part(const std::string& text) {
    return text.size() > 2 * base::limits::quoted_characters ? base::quoted(text) : base::printable(text);
}

}  // namespace

std::string render(const Problem& problem) {
    std::string text = base::printable(problem.file);
    if (problem.line > 0) text += ':' + std::to_string(problem.line) + ':' + std::to_string(problem.column);
    if (!text.empty()) text += ": ";
    text += "error: ";
    if (!problem.key.empty()) text += part(problem.key) + ": ";
    text += part(problem.message);
    if (!problem.expected.empty()) text += "; expected " + part(problem.expected);
    if (!problem.hint.empty()) text += "; " + part(problem.hint);
    text += '\n';
    if (problem.source.empty() || problem.column <= 0) return text;
    return text + "    " + problem.source + "\n    " + indent_to(problem.source, problem.column) + "^\n";
}

std::string render(const std::vector<Problem>& problems) {
    std::string text;
    for (const auto& problem : problems) text += render(problem);
    return text;
}

}  // namespace switchyard::config

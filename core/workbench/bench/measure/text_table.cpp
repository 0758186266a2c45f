#include "core/workbench/bench/measure/text_table.h"

#include <algorithm>
#include <numeric>
#include <sstream>
#include <utility>

#include "core/kernel/base/printable.h"

namespace switchyard::bench {

void TextTable::row(std::vector<std::string> cells) {
    cells.resize(columns_.size());
    for (auto& cell : cells) cell = base::printable(cell);
    lines_.push_back({std::move(cells), ""});
}

void TextTable::note(std::string text) { lines_.push_back({{}, std::move(text)}); }

std::vector<std::size_t> TextTable::widths() const {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        std::size_t widest = columns_[column].title.size();
        for (const Line& line : lines_) {
            if (!line.cells.empty()) widest = std::max(widest, base::columns_of(line.cells[column]));
        }
        widths.push_back(widest);
    }
    return widths;
}

std::vector<TextTable::Part> TextTable::parts(const std::vector<std::size_t>& widths,
                                              std::size_t available) const {
    const auto count = widths.size();
    const auto sum = std::accumulate(widths.begin(), widths.end(), std::size_t{0});
    for (const std::size_t gap : {2, 1})
        if (sum + gap * (count - 1) <= available) return {{1, count, gap}};
    std::vector<Part> parts{{1, 1, 2}};
    std::size_t used = widths.front();
    for (std::size_t column = 1; column < count; ++column) {
        const auto more = 2 + widths[column];
        if (used + more > available && column > parts.back().begin) {
            parts.push_back({column, column, 2});
            used = widths.front();
        }
        used += more;
        parts.back().end = column + 1;
    }
    return parts;
}

std::string TextTable::part_text(const Part& part, const std::vector<std::size_t>& widths,
                                 const std::string& indent, std::size_t width) const {
    std::string text;
    const auto end_line = [&text](std::string line) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    };
    const auto aligned = [&](const std::string& cell, std::size_t column) {
        const std::string padding(widths[column] - base::columns_of(cell), ' ');
        return columns_[column].align == Align::left ? cell + padding : padding + cell;
    };
    const auto add = [&](const auto& cell) {
        std::string line = indent + aligned(cell(0), 0);
        for (std::size_t column = part.begin; column < part.end; ++column) {
            if (indent.size() + widths.front() + part.gap + widths[column] > width)
                end_line(std::exchange(line, indent + "  "));
            line += std::string(part.gap, ' ') + aligned(cell(column), column);
        }
        end_line(std::move(line));
    };
    const bool first = part.begin == 1;
    add([&](std::size_t column) { return columns_[column].title; });
    for (const Line& line : lines_) {
        bool says = first;
        for (auto column = part.begin; column < part.end && !line.cells.empty(); ++column)
            says = says || !line.cells[column].empty();
        if (!says) continue;
        if (line.cells.empty())
            text += indent + "  " + wrap(line.note, width - indent.size() - 2, indent + "  ") + "\n";
        else
            add([&](std::size_t column) { return line.cells[column]; });
    }
    return text;
}

std::string TextTable::render(const std::string& indent, std::size_t width) const {
    const auto widths = this->widths();
    std::string text;
    for (const auto& part : parts(widths, width - indent.size()))
        text += (text.empty() ? "" : "\n") + part_text(part, widths, indent, width);
    return text;
}

std::string wrap(const std::string& text, std::size_t width, const std::string& indent) {
    std::istringstream words(text);
    std::string result, word;
    std::size_t used = 0;
    while (words >> word) {
        const std::size_t columns = base::columns_of(word);
        if (used > 0 && used + 1 + columns > width) {
            result += "\n" + indent;
            used = 0;
        } else if (used > 0) {
            result += " ";
            ++used;
        }
        result += word;
        used += columns;
    }
    return result;
}

}  // namespace switchyard::bench

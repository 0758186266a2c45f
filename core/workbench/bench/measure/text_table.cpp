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

std::string TextTable::render(const std::string& indent, std::size_t width) const {
    std::vector<std::size_t> widths;
    std::vector<std::string> titles;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
        std::size_t widest = columns_[column].title.size();
        for (const Line& line : lines_) {
            if (!line.cells.empty()) widest = std::max(widest, base::columns_of(line.cells[column]));
        }
        widths.push_back(widest);
        titles.push_back(columns_[column].title);
    }
    const auto needed = [&](std::size_t gap) {
        return std::accumulate(widths.begin(), widths.end(), indent.size() + gap * (widths.size() - 1));
    };
    const std::string gap(needed(2) > width ? 1 : 2, ' ');
    std::string text;
    const auto end_line = [&text](std::string line) {
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    };
    const auto add = [&](const std::vector<std::string>& cells) {
        std::string line = indent;
        for (std::size_t column = 0; column < cells.size(); ++column) {
            const std::string padding(widths[column] - base::columns_of(cells[column]), ' ');
            const bool left = columns_[column].align == Align::left;
            if (column > 0 && line.size() + gap.size() + widths[column] > width) {
                end_line(std::exchange(line, indent + "   "));
            }
            line += (column == 0 ? "" : gap) + (left ? cells[column] + padding : padding + cells[column]);
        }
        end_line(std::move(line));
    };
    add(titles);
    for (const Line& line : lines_) {
        if (!line.cells.empty()) {
            add(line.cells);
        } else {
            text += indent + "  " + wrap(line.note, width - indent.size() - 2, indent + "  ") + "\n";
        }
    }
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

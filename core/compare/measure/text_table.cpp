#include <switchyard/compare/measure/text_table.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <sstream>
#include <utility>

#include <switchyard/base/printable.h>

namespace switchyard::compare {

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

std::string digits(double value, int significant) {
    if (!std::isfinite(value)) return "-";
    const int magnitude = value == 0.0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
    const int decimals = std::clamp(significant - 1 - magnitude, 0, 9);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string scientific(double value) {
    if (!std::isfinite(value)) return "-";
    if (value == 0.0) return "0";
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    std::string result = text;
    const auto exponent = result.find('e') + 2;
    while (result[exponent] == '0' && exponent + 1 < result.size()) result.erase(exponent, 1);
    return result;
}

std::string bytes_text(double bytes) {
    if (!std::isfinite(bytes)) return "-";
    const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (std::abs(bytes) >= 999.5 && unit + 1 < std::size(units)) {
        bytes /= 1000.0;
        ++unit;
    }
    return (unit == 0 ? std::to_string(static_cast<long long>(bytes)) : digits(bytes)) + " " + units[unit];
}

}  // namespace switchyard::compare

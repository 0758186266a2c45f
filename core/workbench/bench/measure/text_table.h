// A table for a terminal: columns as wide as their widest cell, two spaces apart, or one where two do not
// fit. Where one does not either, the columns that are left over stand in a table of their own below, after
// the first column once more.
#pragma once

#include <string>
#include <vector>

namespace switchyard::bench {

class TextTable {
public:
    enum class Align { left, right };
    struct Column {
        std::string title;
        Align align = Align::right;
    };

    explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

    void row(std::vector<std::string> cells);
    // A line across all columns that belongs to the row above it. Told once, however many tables there are.
    void note(std::string text);

    // Every line begins with `indent` and is at most `width` long, whatever the numbers: notes are wrapped
    // between words, and rows after the first column where no other fits beside it.
    std::string render(const std::string& indent = "  ", std::size_t width = 110) const;

private:
    // Columns after the first, from `begin` to before `end`, with `gap` spaces before each.
    struct Part {
        std::size_t begin, end, gap;
    };
    std::vector<std::size_t> widths() const;
    std::vector<Part> parts(const std::vector<std::size_t>& widths, std::size_t available) const;
    std::string part_text(const Part& part, const std::vector<std::size_t>& widths, const std::string& indent,
                          std::size_t width) const;

    struct Line {
        std::vector<std::string> cells;  // empty: a note
        std::string note;
    };
    std::vector<Column> columns_;
    std::vector<Line> lines_;
};

// Lines of at most `width`, broken between words, each but the first with `indent`.
std::string wrap(const std::string& text, std::size_t width, const std::string& indent);

}  // namespace switchyard::bench

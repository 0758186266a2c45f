// The way out of this program. What goes to std::cout and std::cerr is escaped (printable.h), whoever wrote
// it and wherever it came from, so that no command can forget to; color goes beside the text and never in it.
// The log escapes by itself.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::base {

// From here on, until the process ends, std::cout, std::cerr and std::clog print printable_lines of what is
// written to them, and standard descriptors that were missing are there (standard_descriptors.h). The first
// call of every program's main. Safe to call twice.
void guard_terminal();

// From here on std::cerr and std::clog wait for nobody: a pipe that nobody reads, a terminal that was halted
// (Ctrl-S) and a reader that has gone lose what they do not take at once, and the work goes on.
void drop_what_nobody_takes();

enum class Color { none, bold, dim, red, green, yellow };

// Colors are off unless the stream is a terminal and NO_COLOR is unset or empty (no-color.org); this turns
// them off for good.
void disable_color();

// Text whose parts know their colors.
class Text {
public:
    Text() = default;
    Text(std::string text);  // NOLINT: plain text is a Text
    Text(const char* text);  // NOLINT: as above

    Text& operator+=(const Text& more);
    friend Text operator+(Text left, const Text& right) { return std::move(left += right); }

    std::size_t columns() const;  // of a terminal
    std::string plain() const;
    Text on_one_line() const;  // printable(): newlines and tabs are written out, too

    friend Text paint(Color color, std::string text);
    friend std::ostream& operator<<(std::ostream& stream, const Text& text);

private:
    struct Part {
        Color color = Color::none;
        std::string text;
    };
    std::vector<Part> parts_;
};

Text paint(Color color, std::string text);

// A manipulator: what follows stands in place of the line that was begun. Nothing where the stream is no
// terminal.
std::ostream& over_line(std::ostream& stream);

// Data that a user asked for, to the standard output: escaped on a terminal, and byte for byte into a file or
// a pipe.
void print_data(std::string_view data);

}  // namespace switchyard::base

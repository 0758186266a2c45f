// What commands print: tables, colors where a terminal shows them, JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace CLI {
class App;
}

namespace switchyard::cli {

// Off unless the standard output is a terminal and NO_COLOR is unset or empty (no-color.org); --no-color turns them off.
enum class Color { bold, dim, red, green, yellow };
std::string paint(Color color, const std::string& text);
void disable_color();

// Columns as wide as their widest cell, two spaces apart, the last one free. Cells may be painted.
class Table {
public:
    explicit Table(std::vector<std::string> titles);
    void row(std::vector<std::string> cells);
    // Lines that belong to the row above, each indented by `indent`.
    void note(const std::string& text, int indent = 4);
    std::string render() const;

private:
    struct Line {
        std::vector<std::string> cells;
        std::string note;
    };
    std::vector<std::string> titles_;
    std::vector<Line> lines_;
};

// --json FILE: "-" is the standard output, which then has nothing else on it, whatever plugins print.
struct JsonOption {
    std::string path;
    bool on_stdout() const { return path == "-"; }
};
void add_json(CLI::App& command, JsonOption& option);

// Called once the arguments are read, with --json -: from here on only write_json reaches the standard output.
void keep_stdout_for_json();

// Writes it if it was asked for: whole or not at all; Failure if it cannot be written.
void write_json(const JsonOption& option, const nlohmann::ordered_json& json);

void write_file(const std::string& path, const std::string& text);
void write_lines(const std::string& path, const std::vector<std::string>& lines);

// The first line of `text` in place of what was shown before, on a terminal; "" takes it away.
void show_progress(const std::string& text);

// How this program was called, as it can be typed again.
std::string command_line();

std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");

// "1 plugin", "3 plugins".
std::string counted(std::size_t count, const std::string& what);

}  // namespace switchyard::cli

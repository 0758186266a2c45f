// What commands print: tables, and JSON files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/number_text.h"
#include "core/kernel/base/terminal.h"

namespace CLI {
class App;
}

namespace switchyard::cli {

using base::Color;
using base::counted;
using base::joined;
using base::paint;
using base::Text;

// Columns as wide as their widest cell, two spaces apart, the last one free. A cell is one line, whatever is
// in it.
class Table {
public:
    explicit Table(const std::vector<std::string>& titles);
    void row(const std::vector<Text>& cells);
    // Lines that belong to the row above, each indented by `indent`.
    void note(const std::string& text, Color color = Color::none, std::size_t indent = 4);
    Text render() const;

private:
    struct Line {
        std::vector<Text> cells;
        Text note;
    };
    std::vector<Line> lines_;  // the titles first
};

// --json FILE: "-" is the standard output, which then has nothing else on it, whatever plugins print.
struct JsonOption {
    std::string path;
    bool on_stdout() const { return path == "-"; }
};
void add_json(CLI::App& command, JsonOption& option);

// Called once the arguments are read, with --json - or --jsonl -: from here on only JSON reaches the standard
// output.
void keep_stdout_for_json();
// As it was before, for a program that takes this one's place.
void give_stdout_back();

// With an end of line. Texts come from files and plugins: what is no UTF-8 in them is replaced, and what
// steers a terminal is written out, which is the same JSON. `indent`: negative for all on one line.
std::string json_text(const nlohmann::ordered_json& json, int indent);
void write_json_to_stdout(const std::string& text);

// Writes it if it was asked for: whole or not at all; Failure if it cannot be written.
void write_json(const JsonOption& option, const nlohmann::ordered_json& json);

void write_file(const std::string& path, const std::string& text);
void write_lines(const std::string& path, const std::vector<std::string>& lines);

// How this program was called, as a shell takes it again.
std::string command_line();

}  // namespace switchyard::cli

#include "core/workbench/cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "core/kernel/base/atomic_file.h"
#include "core/kernel/base/printable.h"
#include "core/kernel/base/shell_text.h"
#include "core/kernel/base/stdout_redirect.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/cli/option_checks.h"
#include "core/workbench/cli/program.h"

namespace switchyard::cli {
namespace {

int& json_descriptor() {
    static int descriptor = STDOUT_FILENO;
    return descriptor;
}

}  // namespace

Table::Table(const std::vector<std::string>& titles) {
    Line line;
    for (const auto& title : titles) line.cells.push_back(paint(Color::bold, title));
    lines_.push_back(std::move(line));
}

void Table::row(const std::vector<Text>& cells) {
    Line line;
    for (const auto& cell : cells) line.cells.push_back(cell.on_one_line());
    lines_.push_back(std::move(line));
}

void Table::note(const std::string& text, Color color, std::size_t indent) {
    const std::string margin(indent, ' ');
    std::string note = margin;
    for (const char c : text) {
        note += c;
        if (c == '\n') note += margin;
    }
    lines_.push_back({{}, paint(color, note)});
}

Text Table::render() const {
    std::vector<std::size_t> widths(lines_.front().cells.size(), 0);
    for (const auto& line : lines_) {
        for (std::size_t i = 0; i < line.cells.size(); ++i)
            widths.at(i) = std::max(widths[i], line.cells[i].columns());
    }
    Text text;
    for (const auto& [cells, note] : lines_) {
        text += note;
        std::size_t gap = 0;  // before the next cell that is not empty: no line ends with spaces
        for (std::size_t i = 0; i < cells.size(); ++i) {
            const std::size_t columns = cells[i].columns();
            if (columns > 0) text += std::string(std::exchange(gap, 0), ' ') + cells[i];
            gap += widths[i] - columns + 2;
        }
        text += "\n";
    }
    return text;
}

void add_json(CLI::App& command, JsonOption& option) {
    command.add_option("--json", option.path, "write the same output as JSON; - is the standard output")
        ->check(output_file())
        ->type_name("FILE");
}

void keep_stdout_for_json() { json_descriptor() = base::redirect_stdout_for_good(); }

void give_stdout_back() {
    std::cout.flush();
    if (json_descriptor() != STDOUT_FILENO) ::dup2(json_descriptor(), STDOUT_FILENO);
}

void write_file(const std::string& path, const std::string& text) {
    std::cout.flush();  // which `path` may be, too
    if (const auto error = base::write_file_atomically(path, text)) throw Failure(*error, Exit::run_failed);
}

void write_json(const JsonOption& option, const nlohmann::ordered_json& json) {
    if (option.path.empty()) return;
    const auto text = json_text(json, 2);
    if (!option.on_stdout()) return write_file(option.path, text);
    write_json_to_stdout(text);
}

std::string json_text(const nlohmann::ordered_json& json, int indent) {
    return base::printable_lines(
        json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

void write_json_to_stdout(const std::string& text) {
    std::cout.flush();
    if (!base::write_all(json_descriptor(), text))
        throw Failure("cannot write to the standard output", Exit::run_failed);
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_file(path, text);
}

std::string command_line() {
    std::string text = "switchyard";
    for (const auto& word : program_arguments()) text += " " + base::shell_word(word);
    return text;
}

}  // namespace switchyard::cli

#include <switchyard/cli/output.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <switchyard/cli/command.h>
#include <switchyard/base/atomic_file.h>
#include <switchyard/host/stdout_aside.h>

namespace switchyard::cli {
namespace {

bool wants_color() {
    const char* const never = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    if (never != nullptr && *never != '\0') return false;
    return isatty(STDOUT_FILENO) == 1 && (terminal == nullptr || std::string_view(terminal) != "dumb");
}

bool& color() {
    static bool on = wants_color();
    return on;
}

// Characters that take room: not the codes of colors, not the later bytes of a character.
std::size_t width_of(const std::string& text) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\033')
            i = text.find('m', i);
        else
            width += (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80 ? 0 : 1;
    }
    return width;
}

int& json_descriptor() {
    static int descriptor = STDOUT_FILENO;
    return descriptor;
}

void write_to(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const auto count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) throw Failure("cannot write to the standard output", Exit::run_failed);
        text.remove_prefix(static_cast<std::size_t>(count));
    }
}

}  // namespace

std::string paint(Color which, const std::string& text) {
    constexpr const char* codes[] = {"1", "2", "31", "32", "33"};
    if (!color() || text.empty()) return text;
    return std::string("\033[") + codes[static_cast<int>(which)] + "m" + text + "\033[0m";
}

void disable_color() { color() = false; }

Table::Table(std::vector<std::string> titles) : titles_(std::move(titles)) {
    for (auto& title : titles_) title = paint(Color::bold, title);
}

void Table::row(std::vector<std::string> cells) { lines_.push_back({std::move(cells), ""}); }

void Table::note(const std::string& text, int indent) {
    std::string note(static_cast<std::size_t>(indent), ' ');
    for (const char c : text) {
        note += c;
        if (c == '\n') note.append(static_cast<std::size_t>(indent), ' ');
    }
    lines_.push_back({{}, std::move(note)});
}

std::string Table::render() const {
    std::vector<std::size_t> widths(titles_.size(), 0);
    std::vector<const std::vector<std::string>*> rows{&titles_};
    for (const auto& line : lines_) rows.push_back(&line.cells);
    for (const auto* cells : rows) {
        for (std::size_t i = 0; i < cells->size(); ++i)
            widths.at(i) = std::max(widths[i], width_of((*cells)[i]));
    }
    std::string text;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto& cells = *rows[r];
        if (cells.empty()) text += lines_[r - 1].note;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            text += cells[i];
            if (i + 1 < cells.size()) text.append(widths[i] - width_of(cells[i]) + 2, ' ');
        }
        while (text.ends_with(' ')) text.pop_back();
        text += '\n';
    }
    return text;
}

void add_json(CLI::App& command, JsonOption& option) {
    command.add_option("--json", option.path, "write the same as JSON; - is the standard output")
        ->type_name("FILE");
}

void keep_stdout_for_json() {
    (void)color();  // asked while the standard output is still there
    json_descriptor() = host::put_stdout_aside_for_good();
}

void write_file(const std::string& path, const std::string& text) {
    if (const auto error = base::write_file_atomically(path, text)) throw Failure(*error, Exit::run_failed);
}

void write_json(const JsonOption& option, const nlohmann::ordered_json& json) {
    if (option.path.empty()) return;
    // Texts come from files and plugins: what is no UTF-8 in them is replaced.
    const auto text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
    if (!option.on_stdout()) return write_file(option.path, text);
    std::cout.flush();
    write_to(json_descriptor(), text);
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& line : lines) text += line + "\n";
    write_file(path, text);
}

void show_progress(const std::string& text) {
    if (isatty(STDERR_FILENO) == 1) std::cerr << "\r\033[K" << text.substr(0, text.find('\n')) << std::flush;
}

std::string command_line() {
    std::ifstream file("/proc/self/cmdline");
    std::string text, word;
    while (std::getline(file, word, '\0')) text += text.empty() ? "switchyard" : " " + word;
    return text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
    std::string text;
    for (const auto& word : words) {
        if (!text.empty()) text += between;
        text += word;
    }
    return text;
}

std::string counted(std::size_t count, const std::string& what) {
    return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

}  // namespace switchyard::cli

#include "core/workbench/cli/data/text_rows.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>

#include <CLI/CLI.hpp>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/cli/command.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/parquet/parquet_rows.h"
#include "core/workbench/data/reading_progress.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_batch_bytes = std::size_t{4} << 20;
constexpr std::int64_t listed_rows = 10;

std::optional<data::RowFormat> format_named(const std::string& name) {
    const auto& all = names<data::RowFormat>;
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end()) return std::nullopt;
    return static_cast<data::RowFormat>(found - all.begin());
}

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

}  // namespace

std::string TextRow::place() const {
    return (file == "-" ? "standard input" : file) + ":" + std::to_string(line);
}

CLI::Option* add_text_files(CLI::App& command, TextFiles& files, bool pairs) {
    auto* const from =
        command
            .add_option("--from", files.names,
                        "files to read the texts from, row by row (TSV, CSV, JSON Lines, plain "
                        "text, Parquet; folders; patterns); -: the standard input")
            ->type_name("FILE");
    command
        .add_option("--format", files.format,
                    "what FILE is, whatever its name; without it the standard input is text, a text a line")
        ->check(CLI::IsMember(
            std::vector<std::string>(names<data::RowFormat>.begin(), names<data::RowFormat>.end())))
        ->type_name("FORMAT")
        ->needs(from);
    command
        .add_option("--text-column", files.text_column,
                    "column of the text in FILE, by name or number (#0); otherwise data.text_column")
        ->type_name("COLUMN")
        ->needs(from);
    if (pairs) {
        command
            .add_option("--pair-column", files.pair_column,
                        "column of a pair's second text in FILE; otherwise data.pair_column")
            ->type_name("COLUMN")
            ->needs(from);
    }
    return from;
}

TextRows::TextRows(const TextFiles& files, const config::Config& config, bool pairs, std::string phase,
                   bool shows_progress)
    : options_(files),
      pairs_(pairs),
      phase_(std::move(phase)),
      shows_progress_(shows_progress),
      progress_(Progress::for_stderr()) {
    columns_ = {files.text_column.empty() ? config.data.text_column : files.text_column};
    if (pairs) columns_.push_back(files.pair_column.empty() ? config.data.pair_column : files.pair_column);
    for (const auto& name : files.names) {
        for (const auto& path : name == "-" ? std::vector{name} : data::files_of(name)) add_file(path);
    }
    const auto size_of = [](const File& file) { return data::plain_bytes(file.path, file.format); };
    for (const auto& file : files_) bytes_ += size_of(file);
    if (std::ranges::any_of(files_, [&](const File& file) { return size_of(file) == 0.0; })) bytes_ = 0.0;
}

void TextRows::add_file(const std::string& path) {
    const auto given = format_named(options_.format);
    File file{path, path == "-", data::RowFormat::text};
    if (file.standard_input) {
        file.format = given.value_or(data::RowFormat::text);
        if (file.format == data::RowFormat::parquet)
            throw Failure("--format: error: Parquet is not read from the standard input; expected a file");
        if (std::ranges::any_of(files_, [](const File& other) { return other.standard_input; }))
            throw Failure("--from: error: the standard input is named twice; expected once");
    } else {
        const auto told = data::is_parquet_file(path) ? data::RowFormat::parquet : data::format_of(path);
        file.format = given.value_or(told.value_or(data::RowFormat::text));
        if (!given && !told) {
            const auto error = data::read_formatted_rows(request_of(file)).error;
            const bool unknown = error.find("cannot tell its format") != std::string::npos;
            throw Failure(error + (unknown ? "; or --format" : ""));
        }
    }
    if (pairs_ && columns_[1].empty() && file.format != data::RowFormat::text)
        throw Failure(
            "--pair-column: error: is not given, and the run names no data.pair_column; expected "
            "the column of the second text in " +
            file.shown());
    probe(file);
    files_.push_back(std::move(file));
}

// A column that is not there is told before anything is predicted. What can be read only once is not.
void TextRows::probe(const File& file) const {
    std::error_code ignored;
    const auto type = file.standard_input ? fs::file_type::fifo : fs::status(file.path, ignored).type();
    if (type == fs::file_type::fifo || type == fs::file_type::character) return;
    auto request = request_of(file);
    request.on_row = [](const data::Row&) { return false; };
    request.on_problem = [](const data::RowProblem&) { return false; };
    const auto read = options_.format.empty() ? data::read_formatted_rows(request) : data::read_rows(request);
    if (!read.error.empty()) throw Failure(read.error);
}

data::RowRequest TextRows::request_of(const File& file) const {
    data::RowRequest request;
    request.path = file.shown();
    request.standard_input = file.standard_input;
    request.format = file.format;
    request.columns = columns_of(file);
    return request;
}

// A line of plain text has the two texts of a pair with a tab between.
std::vector<std::string> TextRows::columns_of(const File& file) const {
    return file.format == data::RowFormat::text ? std::vector<std::string>{"text"} : columns_;
}

void TextRows::read(std::size_t rows, const Problem& problem, const Take& take,
                    const Interrupted& interrupted) {
    batch_rows_ = rows;
    take_ = take;
    interrupted_ = interrupted;
    begin_ = std::chrono::steady_clock::now();
    for (const auto& file : files_) {
        auto request = request_of(file);
        request.interrupted = interrupted;
        request.on_row = [&](data::Row& row) { return !interrupted() && add(file, row, problem); };
        request.on_problem = [&](const data::RowProblem& fault) {
            if (interrupted()) return false;
            pass_over(file, {fault.line, fault.column}, "the row " + fault.message);
            return true;
        };
        const auto read = data::read_rows(request);
        if (interrupted()) break;  // what is wrong with the rest may come of that
        if (!read.error.empty()) throw Failure(read.error);
    }
    const bool all = !interrupted() && hand_on();
    progress_.finish();
    if (all && taken_ + passed_over_ == 0)
        throw Failure(files_.front().shown() + ": error: has no row; expected a text a row");
}

// What is wrong with a row that is to have two texts; empty: it has.
std::string TextRows::split_pair(data::Row& row) const {
    if (row.values.size() == 1) {
        const auto& line = row.values[0];
        const auto tabs = std::ranges::count(line, '\t');
        if (tabs != 1)
            return "expected the two texts of a pair with a tab between, got " +
                   base::counted(static_cast<std::size_t>(tabs), "tab");
        const auto tab = line.find('\t');
        row.values = {line.substr(0, tab), line.substr(tab + 1)};
    }
    return blank(row.values[1]) ? "the pair has no second text" : "";
}

bool TextRows::add(const File& file, data::Row& row, const Problem& problem) {
    read_bytes_ += static_cast<double>(row.source.text.size()) + 1.0;
    const auto at = [&](std::size_t value, std::size_t byte) {
        if (file.format != data::RowFormat::text) return row.place(value, byte);
        const auto before = value == 0 ? 0 : row.values[0].size() + 1;
        return data::RowPlace{row.line, static_cast<std::int64_t>(before + byte) + 1};
    };
    std::string fault = pairs_ ? split_pair(row) : "";
    if (!fault.empty()) return pass_over(file, at(row.values.size() - 1, 0), fault), true;
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        fault = problem(row.values[i]);
        if (fault.empty()) continue;
        const auto byte = data::find_invalid_utf8(row.values[i]);
        pass_over(file, at(i, byte == std::string::npos ? 0 : byte), fault);
        return true;
    }
    batch_bytes_ += row.source.text.size();
    TextRow taken{file.path, row.line, {std::move(row.values[0]), ""}};
    if (pairs_) taken.given.second = std::move(row.values[1]);
    batch_.push_back(std::move(taken));
    return (batch_.size() < batch_rows_ && batch_bytes_ < most_batch_bytes) || hand_on();
}

void TextRows::pass_over(const File& file, const data::RowPlace& place, const std::string& message) {
    if (++passed_over_ > listed_rows) return;
    progress_.finish();
    std::cerr << file.shown() + ":" + data::to_string(place) + ": error: " + message + "\n";
}

void TextRows::leave_if_interrupted() const {
    if (interrupted_()) throw Stopped{};
}

bool TextRows::hand_on() {
    if (batch_.empty()) return true;
    try {
        take_(batch_);
    } catch (const Stopped&) {
        return false;
    }
    taken_ += static_cast<std::int64_t>(batch_.size());
    batch_.clear();
    batch_bytes_ = 0;
    show_progress();
    return !interrupted_();
}

void TextRows::show_progress() {
    if (!shows_progress_) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    ProgressState state{phase_, taken_, -1, 0.0, -1.0, 0.0};
    state.samples_per_second = static_cast<double>(taken_) / std::max(passed.count(), 1e-3);
    if (bytes_ > 0.0) {
        state.share = std::min(read_bytes_ / bytes_, 1.0);
        state.seconds_left = passed.count() * (1.0 - state.share) / std::max(state.share, 1e-9);
    }
    progress_.show(state);
}

int TextRows::stopped(const std::string& output, int code) const {
    std::cerr << "stopped after " + base::counted(static_cast<std::size_t>(taken_), "row") + "; " + output +
                     " is as it was\n";
    return code;
}

void TextRows::require_all_used() const {
    if (passed_over_ == 0) return;
    const auto told =
        passed_over_ > listed_rows ? "; the first " + std::to_string(listed_rows) + " are listed above" : "";
    throw Failure(std::to_string(passed_over_) + " of " +
                      base::counted(static_cast<std::size_t>(taken_ + passed_over_), "row") +
                      " cannot be used and " + (passed_over_ == 1 ? "has" : "have") +
                      " no result; all others have theirs" + told,
                  Exit::run_failed);
}

}  // namespace switchyard::cli

// Files of texts that a command takes row by row: --from FILE of predict and generate. Rows are handed on in
// batches as they are read, and only one batch is in memory; a row that cannot be used is told and passed
// over.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/kernel/config/config.h"
#include "core/workbench/cli/progress.h"
#include "core/workbench/data/rows.h"
#include "core/workbench/train/predict.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace switchyard::cli {

struct TextFiles {
    std::vector<std::string> names;        // files, folders and patterns; "-": the standard input
    std::string format;                    // "": what each file's name tells
    std::string text_column, pair_column;  // "": those of the configuration
};
// --from and what says how it is read; the option of the files.
CLI::Option* add_text_files(CLI::App& command, TextFiles& files, bool pairs);

struct TextRow {
    std::string file;  // "-": the standard input
    std::int64_t line = 0;
    train::GivenText given;

    std::string place() const;  // "reviews.csv:3"
};

class TextRows {
public:
    // Throws Failure, before any row is handed on, for a file that cannot be read or lacks a column.
    // `phase`: what the progress line calls the work, which is shown if `shows_progress`.
    TextRows(const TextFiles& files, const config::Config& config, bool pairs, std::string phase,
             bool shows_progress);

    // Why a text cannot be used; empty: it can.
    using Problem = std::function<std::string(const std::string& text)>;
    using Take = std::function<void(const std::vector<TextRow>& rows)>;
    using Interrupted = std::function<bool()>;
    // Calls `take` with at most `rows` rows at a time, in their order, until `interrupted` holds, which is
    // looked at for each row, and while a row or the writer of a FIFO is waited for. Throws Failure where
    // there is none at all.
    void read(std::size_t rows, const Problem& problem, const Take& take, const Interrupted& interrupted);
    // For `take` to call in between: where `interrupted` holds it leaves `take` by an exception, and these
    // rows are not taken.
    void leave_if_interrupted() const;

    // Says after how many rows reading was stopped, and that `output` is as it was; returns `code`.
    int stopped(const std::string& output, int code) const;
    // Throws Failure if a row was passed over, with how many.
    void require_all_used() const;

private:
    struct Stopped {};
    struct File {
        std::string path;
        bool standard_input = false;
        data::RowFormat format = data::RowFormat::text;
        std::string shown() const { return standard_input ? "standard input" : path; }
    };
    void add_file(const std::string& path);
    void probe(const File& file) const;
    data::RowRequest request_of(const File& file) const;
    std::vector<std::string> columns_of(const File& file) const;
    bool add(const File& file, data::Row& row, const Problem& problem);
    std::string split_pair(data::Row& row) const;
    void pass_over(const File& file, const data::RowPlace& place, const std::string& message);
    bool hand_on();
    void show_progress();

    const TextFiles& options_;
    bool pairs_;
    std::vector<std::string> columns_;  // of tables
    std::vector<File> files_;
    double bytes_ = 0.0;  // of all files; 0: not known
    double read_bytes_ = 0.0;
    std::string phase_;
    bool shows_progress_;
    Progress progress_;
    std::chrono::steady_clock::time_point begin_;
    std::int64_t taken_ = 0, passed_over_ = 0;
    std::vector<TextRow> batch_;
    std::size_t batch_bytes_ = 0, batch_rows_ = 1;
    Take take_;
    Interrupted interrupted_;
};

}  // namespace switchyard::cli

#include "core/workbench/data/documents.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "core/kernel/base/limits.h"
#include "core/workbench/data/file_pattern.h"
#include "core/workbench/data/parquet/parquet_rows.h"

namespace switchyard::data {
namespace {

namespace fs = std::filesystem;

// What can be said before a file is opened.
std::string no_content(const std::string& path) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (!error && size == 0) return path + ": is empty; expected text";
    if (is_pattern(path) && !fs::exists(path, error))
        return path +
               ": no file has a name that matches; expected the name of a file or folder, in which * ? "
               "and [...] may stand for parts of it, and ** for folders";
    return "";
}

// What can be said of a file that is to be read as lines.
std::string no_lines(const std::string& path) {
    if (is_parquet_file(path))
        return path +
               ": is a Parquet file; expected plain text, of which paragraphs, whole files and pairs of "
               "lines are made";
    return no_content(path);
}

// All files of a folder.
std::set<std::string> files_below(const std::string& folder) {
    std::error_code error;
    std::set<std::string> files;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const bool hidden = at->path().filename().string().starts_with(".");
        if (hidden && at->is_directory(error)) at.disable_recursion_pending();
        if (!hidden && at->is_regular_file(error)) files.insert(at->path().string());
    }
    return files;
}

bool blank(const std::string& line) { return line.find_first_not_of(" \t\r\f\v") == std::string::npos; }

// Hands out lines gathered into texts.
class Gatherer {
public:
    Gatherer(const RowRequest& request, bool paragraphs) : request_(request), paragraphs_(paragraphs) {}

    bool line(const Row& row) {
        if (paragraphs_ && blank(row.values[0])) return flush();
        if (!text_.values.empty() &&
            text_.values[0].size() + row.values[0].size() >= base::limits::file_bytes)
            return too_long();
        if (text_.values.empty()) {
            text_ = {row.line, {row.values[0]}};
        } else {
            text_.values[0] += '\n';
            text_.values[0] += row.values[0];
        }
        return true;
    }
    bool flush() {
        const bool told = std::exchange(told_, false);
        if (text_.values.empty() || told) return text_ = {}, true;
        Row whole = std::exchange(text_, {});
        ++texts_;
        return request_.on_row(whole);
    }
    std::int64_t texts() const { return texts_; }

private:
    // The rest of the text is passed over.
    bool too_long() {
        text_.values[0].clear();
        return std::exchange(told_, true) || !request_.on_problem ||
               request_.on_problem({text_.line, "begins a text that is longer than " +
                                                    std::to_string(base::limits::file_bytes) + " bytes"});
    }

    const RowRequest& request_;
    bool paragraphs_;
    bool told_ = false;
    Row text_;
    std::int64_t texts_ = 0;
};

RowRequest lines_of(const std::string& path) {
    RowRequest request;
    request.path = path;
    request.columns = {"text"};
    return request;
}

}  // namespace

std::vector<std::string> files_of(const std::string& path) {
    std::error_code error;
    std::set<std::string> files;  // "**" names a folder and what is in it
    for (auto& named : is_pattern(path) ? matches_of(path) : std::vector{path}) {
        if (fs::is_directory(named, error))
            files.merge(files_below(named));
        else
            files.insert(std::move(named));
    }
    return files.empty() ? std::vector{path} : std::vector(files.begin(), files.end());
}

RowsRead read_formatted_rows(RowRequest request) {
    if (request.path.empty()) return {0, "expected the name of a file, got an empty text"};
    if (auto error = no_content(request.path); !error.empty()) return {0, std::move(error)};
    const auto format = is_parquet_file(request.path) ? RowFormat::parquet : format_of(request.path);
    std::error_code ignored;
    if (request.path.ends_with(".tokens"))
        return {0, request.path + ": is a part of a token store; expected the folder that it is in"};
    if (!format && fs::is_directory(request.path, ignored))
        return {0, request.path + ": holds no file; expected a folder of files of text"};
    if (!format) {
        return {
            0, request.path +
                   ": cannot tell its format from its name; expected .txt, .smi, .tsv, .csv, .jsonl or .tab, "
                   "plain, .gz, .bz2 or .zst, or .parquet" +
                   (request.path.ends_with(".json")
                        ? "; JSON has one object a line here and a name that ends in .jsonl (`jq -c '.[]' "
                          "rows.json > rows.jsonl` makes them of an array)"
                        : "")};
    }
    request.format = *format;
    return read_rows(request);
}

RowsRead read_documents(RowRequest request, config::Documents documents) {
    if (documents == config::Documents::rows) return read_formatted_rows(std::move(request));
    if (auto error = no_lines(request.path); !error.empty()) return {0, std::move(error)};
    Gatherer gatherer(request, documents == config::Documents::paragraphs);
    bool more = true;
    auto lines = lines_of(request.path);
    lines.columns = request.columns;
    lines.on_row = [&](Row& row) { return more = gatherer.line(row); };
    lines.on_problem = [&](const RowProblem& problem) {
        return more = !request.on_problem || request.on_problem(problem);
    };
    auto read = read_rows(lines);
    if (more && read.error.empty()) gatherer.flush();
    return {gatherer.texts(), std::move(read.error)};
}

RowsRead read_line_pairs(RowRequest request, const std::string& targets) {
    for (const auto& path : {request.path, targets}) {
        if (auto error = no_lines(path); !error.empty()) return {0, std::move(error)};
    }
    std::vector<std::string> answers;
    std::string fault;  // a line that is left out would shift all behind it
    auto lines = lines_of(targets);
    lines.on_problem = [&](const RowProblem& problem) {
        fault = lines.path + ":" + to_string(RowPlace{problem.line, problem.column}) + ": " + problem.message;
        return false;
    };
    const auto on_problem = lines.on_problem;
    lines.on_row = [&](Row& row) {
        answers.push_back(std::move(row.values[0]));
        return true;
    };
    auto read = read_rows(lines);
    if (read.error.empty()) read.error = fault;
    if (!read.error.empty()) return read;
    bool more = true;
    std::size_t count = 0;
    lines = lines_of(request.path);
    lines.on_problem = on_problem;
    lines.on_row = [&](Row& row) {
        if (more && count < answers.size()) {
            row.values.push_back(std::move(answers[count]));
            more = request.on_row(row);
        }
        ++count;
        return true;
    };
    read = read_rows(lines);
    if (read.error.empty()) read.error = fault;
    if (read.error.empty() && count != answers.size()) {
        read.error = targets + ": has " + std::to_string(answers.size()) + " lines, but " + request.path +
                     " has " + std::to_string(count) + "; expected a line for each line";
    }
    return read;
}

}  // namespace switchyard::data

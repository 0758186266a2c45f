#include "core/workbench/data/splits.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/kernel/base/limits.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/split.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {
namespace {

using Use = std::function<RowUse(const std::string& path, Row& row, bool eval)>;

class Reader {
public:
    Reader(const SplitRequest& request, const Use& use, Splits& splits)
        : request_(request), data_(request.data), use_(use), splits_(splits) {}

    void read(const char* key, const std::vector<std::string>& paths, const std::vector<std::string>& targets,
              double eval_fraction) {
        key_ = key;
        if (request_.parallel) {
            for (std::size_t i = 0; i < paths.size(); ++i) {
                begin(paths[i], eval_fraction);
                end(read_line_pairs(rows_of(paths[i]), targets[i]));
            }
            return;
        }
        for (const auto& named : paths) {
            for (const auto& path : files_of(named)) {
                begin(path, eval_fraction);
                end(request_.documents ? read_documents(rows_of(path), data_.documents)
                                       : read_formatted_rows(rows_of(path)));
            }
        }
    }

    // After the problems that are told: how many are not.
    void tell_rest() {
        if (untold_ > 0) splits_.problems.push_back("and " + std::to_string(untold_) + " more");
    }

private:
    void begin(const std::string& path, double eval_fraction) {
        path_ = path;
        eval_fraction_ = eval_fraction;
        rows_ = 0;
    }
    void end(const RowsRead& read) {
        if (!read.error.empty()) problem(key_ + ": " + read.error);
    }

    RowRequest rows_of(const std::string& path) {
        RowRequest request;
        request.path = path;
        request.columns = request_.columns;
        request.on_row = [this](Row& row) {
            add(row);
            return keep_reading();
        };
        request.on_problem = [this](const RowProblem& fault) {
            auto& counts = eval_fraction_ >= 1.0 ? splits_.eval_rows : splits_.train_rows;
            ++counts.read;
            unusable(data_.bad_row, counts, fault.line, "the row " + fault.message);
            return keep_reading();
        };
        return request;
    }

    bool keep_reading() {
        ++rows_;
        return data_.max_rows == 0 || rows_ < data_.max_rows;
    }

    void add(Row& row) {
        const double position = split_position(row.values[request_.key]);
        const bool eval = position < eval_fraction_;
        auto& counts = eval ? splits_.eval_rows : splits_.train_rows;
        ++counts.read;
        const auto line = row.line;
        const auto holds = [&](auto&& what) { return std::ranges::any_of(row.values, what); };
        counts.with_nul +=
            holds([](const auto& text) { return text.find('\0') != std::string::npos; }) ? 1 : 0;
        const auto result = use_(path_, row, eval);
        if (result.used) {
            if (!data_.eval.empty()) look_for_both(position, eval);
            ++counts.used;
            counts.truncated += result.truncated ? 1 : 0;
            return;
        }
        if (result.fault.empty()) {
            ++counts.skipped;
            ++counts.empty;
        } else {
            if (result.rule == config::BadRow::skip &&
                holds([](const auto& text) { return find_invalid_utf8(text) != std::string::npos; }))
                ++counts.invalid_utf8;
            unusable(result.rule, counts, line + result.line, result.fault);
        }
    }

    // A position has 53 bits of the text's hash: two texts in a billion pairs of a million texts share one.
    void look_for_both(double position, bool eval) {
        if (eval)
            splits_.also_in_train += train_texts_.contains(position) ? 1 : 0;
        else
            train_texts_.insert(position);
    }

    void unusable(config::BadRow rule, RowCounts& counts, std::int64_t line, const std::string& message) {
        if (rule == config::BadRow::skip)
            ++counts.skipped;
        else
            problem(path_ + ":" + std::to_string(line) + ": " + message);
    }

    void problem(std::string message) {
        if (splits_.problems.size() < base::limits::listed_problems)
            splits_.problems.push_back(std::move(message));
        else
            ++untold_;
    }

    const SplitRequest& request_;
    const config::DataConfig& data_;
    const Use& use_;
    Splits& splits_;
    std::string key_, path_;
    double eval_fraction_ = 0.0;
    std::unordered_set<double> train_texts_;
    std::int64_t rows_ = 0;
    std::size_t untold_ = 0;
};

void warn(const char* key, const RowCounts& rows, std::vector<std::string>& warnings) {
    const std::string place = std::string(key) + ": ";
    if (rows.empty > 0)
        warnings.push_back(place + base::counted(rows.empty, "row") + " without any text " +
                           (rows.empty == 1 ? "is" : "are") + " left out");
    if (rows.invalid_utf8 > 0)
        warnings.push_back(place + base::counted(rows.invalid_utf8, "row") + " of invalid UTF-8 " +
                           (rows.invalid_utf8 == 1 ? "is" : "are") + " left out (data.bad_row)");
    if (rows.with_nul > 0)
        warnings.push_back(place + base::counted(rows.with_nul, "row") + " of " + std::to_string(rows.read) +
                           " hold" + (rows.with_nul == 1 ? "s" : "") +
                           " NUL bytes: is this text, in an encoding of one byte a character or UTF-8?");
}

std::string unequal_lists(const char* key, std::size_t count, const char* targets_key, std::size_t targets) {
    return std::string("data.") + targets_key + ": expected one file for each of data." + key + ", " +
           std::to_string(count) + "; got " + std::to_string(targets);
}

}  // namespace

void read_splits(const SplitRequest& request, const Use& use, Splits& splits) {
    const auto& data = request.data;
    if (request.parallel) {
        if (data.train.size() != data.target_train.size())
            splits.problems.push_back(
                unequal_lists("train", data.train.size(), "target_train", data.target_train.size()));
        if (data.eval.size() != data.target_eval.size())
            splits.problems.push_back(
                unequal_lists("eval", data.eval.size(), "target_eval", data.target_eval.size()));
        if (!splits.problems.empty()) return;
    }
    Reader reader(request, use, splits);
    reader.read("data.train", data.train, data.target_train, data.eval.empty() ? data.eval_fraction : 0.0);
    reader.read("data.eval", data.eval, data.target_eval, 1.0);
    reader.tell_rest();
    warn("data.train", splits.train_rows, splits.warnings);
    warn(data.eval.empty() ? "data.train, held out" : "data.eval", splits.eval_rows, splits.warnings);
}

void require_samples(const config::DataConfig& data, Splits& splits) {
    if (!splits.problems.empty()) return;
    if (splits.train->size() == 0) {
        const auto& train = splits.train_rows;
        const auto& held_out = data.eval.empty() ? splits.eval_rows : RowCounts{};
        const auto empty = train.empty + held_out.empty;
        splits.problems.push_back(
            "data.train: no row can be used for training (" + std::to_string(train.read + held_out.read) +
            " read" + (empty > 0 ? ", " + std::to_string(empty) + " without any text" : "") + ")");
        if (data.eval.empty()) return;  // nothing could have been held out
    }
    if (splits.eval->size() == 0) {
        splits.problems.push_back(
            data.eval.empty()
                ? "data.eval_fraction: no text was held out for evaluation; raise it or name files "
                  "in data.eval"
                : "data.eval: no row can be used for evaluation");
    }
}

}  // namespace switchyard::data

#include "core/workbench/data/splits.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/kernel/base/joined.h"
#include "core/kernel/base/limits.h"
#include "core/kernel/base/number_text.h"
#include "core/workbench/data/documents.h"
#include "core/workbench/data/mixture.h"
#include "core/workbench/data/reading_progress.h"
#include "core/workbench/data/split.h"
#include "core/workbench/data/store/token_folder.h"
#include "core/workbench/data/tokenizers/tokenizer.h"

namespace switchyard::data {
namespace {

using Use = std::function<RowWork(const RowWay& way, Row& row)>;
using Paths = std::vector<std::string>;

Paths files_of_all(const Paths& names) {
    Paths files;
    for (const auto& name : names) {
        const auto named = files_of(name);
        files.insert(files.end(), named.begin(), named.end());
    }
    return files;
}

std::string unequal_lists(const std::string& key, std::size_t count, const char* targets_key,
                          std::size_t targets) {
    return std::string("data.") + targets_key + ": expected one file for each of " + key + ", " +
           std::to_string(count) + "; got " + std::to_string(targets);
}

// Tells the observer of this thread how far the files are read.
class ReadingMeter {
public:
    // `most_rows`: of a file; 0: all.
    ReadingMeter(const Paths& files, std::int64_t most_rows) {
        for (const auto& file : files) {
            const double bytes = plain_bytes(file, format_of(file).value_or(RowFormat::text));
            known_ = known_ && bytes > 0.0 && most_rows == 0;
            all_ += bytes;
        }
    }

    void row(const Row& row) {
        std::size_t values = 0;
        for (const auto& value : row.values) values += value.size() + 1;
        in_file_ += static_cast<double>(std::max(row.source.text.size() + 1, values));
        if (++rows_ % rows_between == 0) tell(false);
    }
    void end_of(const std::string& file) {
        before_ += plain_bytes(file, format_of(file).value_or(RowFormat::text));
        in_file_ = 0.0;
    }
    void tell(bool done) const {
        const double share = std::min((before_ + in_file_) / std::max(all_, 1.0), 1.0);
        ReadingObserver::tell({rows_, known_ ? share : -1.0, done});
    }

private:
    static constexpr std::int64_t rows_between = 256;
    bool known_ = true;
    double all_ = 0.0, before_ = 0.0, in_file_ = 0.0;  // bytes
    std::int64_t rows_ = 0;
};

Paths all_files(const config::DataConfig& data) {
    Paths names = data.eval;
    for (const auto& source : sources_of(data))
        names.insert(names.end(), source.files.begin(), source.files.end());
    std::erase_if(names, is_token_folder);
    return files_of_all(names);
}

class Reader {
public:
    Reader(const SplitRequest& request, const Use& use, Splits& splits)
        : request_(request),
          data_(request.data),
          use_(use),
          splits_(splits),
          held_(request.tokenizer),
          meter_(all_files(request.data), request.data.max_rows) {}

    void read_training(double eval_fraction) {
        const auto sources = sources_of(data_);
        for (source_ = 0; source_ < sources.size(); ++source_) {
            const auto& source = sources[source_];
            columns_ = columns_of(source);
            if (!data_.sources.empty())
                splits_.sources.push_back({source.shown_name(), source.weight, {}, 0, 0});
            read(train_key(data_), source.files, data_.target_train, "target_train", eval_fraction);
        }
    }
    void read_evaluation() {
        columns_ = request_.columns;
        source_ = 0;
        read("data.eval", data_.eval, data_.target_eval, "target_eval", 1.0);
    }

    // In which other rows what is told is wrong, and after the problems that are told: how many are not.
    void tell_rest() {
        meter_.tell(true);
        for (const auto& entry : faults_) {
            const auto& same = entry.second;
            if (same.more == 0) continue;
            const auto unnamed = same.more - std::min(same.more, most_places);
            splits_.problems[same.at] += "; the same in " + base::counted(same.more, "more row") + ": " +
                                         same.places +
                                         (unnamed > 0 ? " and " + std::to_string(unnamed) + " more" : "");
        }
        if (untold_ > 0) splits_.problems.push_back("and " + std::to_string(untold_) + " more");
    }

private:
    Paths columns_of(const config::SourceConfig& source) const {
        auto columns = request_.columns;
        if (!source.text_column.empty()) columns[request_.key] = source.text_column;
        if (!source.label_column.empty() && request_.label) columns[0] = source.label_column;
        return columns;
    }

    // Names without those of token stores.
    Paths texts_of(Paths names) {
        std::erase_if(names, [&](const std::string& name) {
            if (!is_token_folder(name)) return false;
            if (!request_.stores_aside)
                problem(
                    key_ + ": " + name +
                    ": is a token store, which has tokens and no text; expected files of text here (stores "
                    "are for masked_lm, causal_lm and spans, with data.vocabulary)");
            return true;
        });
        return names;
    }

    void read(const std::string& key, const Paths& names, const Paths& target_names, const char* targets_key,
              double eval_fraction) {
        key_ = key;
        eval_fraction_ = eval_fraction;
        const auto paths = files_of_all(texts_of(names));
        const auto targets = request_.parallel ? files_of_all(target_names) : Paths();
        if (request_.parallel && paths.size() != targets.size())
            return problem(unequal_lists(key, paths.size(), targets_key, targets.size()));
        for (std::size_t i = 0; i < paths.size(); ++i) {
            path_ = paths[i];
            target_path_ = request_.parallel ? targets[i] : "";
            rows_ = 0;
            end(request_.parallel    ? read_line_pairs(rows_of(path_), target_path_)
                : request_.documents ? read_documents(rows_of(path_), data_.documents)
                                     : read_formatted_rows(rows_of(path_)));
            meter_.end_of(path_);
        }
        held_.flush();
    }

    void end(const RowsRead& read) {
        if (read.error.empty()) return;
        held_.flush();
        problem(key_ + ": " + read.error);
    }

    RowRequest rows_of(const std::string& path) {
        RowRequest request;
        request.path = path;
        request.columns = columns_;
        request.on_row = [this](Row& row) {
            meter_.row(row);
            add(row);
            return keep_reading();
        };
        request.on_problem = [this](const RowProblem& fault) {
            held_.flush();
            count(eval_fraction_ >= 1.0, [](RowCounts& counts) { ++counts.read; });
            unusable(path_, data_.bad_row, eval_fraction_ >= 1.0, {fault.line, fault.column},
                     "the row " + fault.message);
            return keep_reading();
        };
        return request;
    }

    bool keep_reading() {
        ++rows_;
        return data_.max_rows == 0 || rows_ < data_.max_rows;
    }

    // Of a split, and of the source that it is counted for.
    template <class Change>
    void count(bool eval, Change change) {
        change(eval ? splits_.eval_rows : splits_.train_rows);
        if (!eval && source_ < splits_.sources.size()) change(splits_.sources[source_].rows);
    }

    void add(Row& row) {
        const double position = split_position(row.values[request_.key]);
        const bool eval = position < eval_fraction_;
        auto work = use_({path_, source_, eval, columns_}, row);
        // What the row is of is kept with it: reading goes on to other files meanwhile.
        held_.add(row, columns_, std::move(work.texts),
                  [this, position, eval, path = path_, target_path = target_path_, use = std::move(work.use),
                   take = std::move(work.take)](Row& held, TokenLists tokens) {
                      const auto result = take ? take(std::move(tokens)) : use;
                      settle(held, result, position, eval);
                      if (!result.used && !result.fault.empty())
                          unusable(request_.parallel && result.value > 0 ? target_path : path, result.rule,
                                   eval, place_of(held, result), result.fault);
                  });
    }

    // Counts the row.
    void settle(const Row& row, const RowUse& result, double position, bool eval) {
        const auto holds = [&](auto&& what) { return std::ranges::any_of(row.values, what); };
        const bool nul = holds([](const auto& text) { return text.find('\0') != std::string::npos; });
        const bool empty = !result.used && result.fault.empty();
        const bool no_utf8 =
            !result.used && !empty && result.rule == config::BadRow::skip &&
            holds([](const auto& text) { return find_invalid_utf8(text) != std::string::npos; });
        count(eval, [&](RowCounts& counts) {
            ++counts.read;
            counts.with_nul += nul ? 1 : 0;
            counts.used += result.used ? 1 : 0;
            counts.truncated += result.used && result.truncated ? 1 : 0;
            counts.split += result.used && result.split ? 1 : 0;
            counts.empty += empty ? 1 : 0;
            counts.skipped += empty ? 1 : 0;
            counts.invalid_utf8 += no_utf8 ? 1 : 0;
        });
        if (result.used && !data_.eval.empty()) look_for_both(position, eval);
    }

    RowPlace place_of(const Row& row, const RowUse& result) const {
        if (request_.parallel && result.value > 0)
            return {row.line, static_cast<std::int64_t>(result.byte) + 1};
        return row.place(result.value, result.byte);
    }

    // A position has 53 bits of the text's hash: two texts in a billion pairs of a million texts share one.
    void look_for_both(double position, bool eval) {
        if (eval)
            splits_.also_in_train += train_texts_.contains(position) ? 1 : 0;
        else
            train_texts_.insert(position);
    }

    void unusable(const std::string& path, config::BadRow rule, bool eval, const RowPlace& place,
                  const std::string& message) {
        if (rule == config::BadRow::error) return fault(path + ":" + to_string(place), message);
        count(eval, [](RowCounts& counts) { ++counts.skipped; });
        if (splits_.skipped.size() < most_listed_rows)
            splits_.skipped.push_back({path, place, message, eval});
    }

    // Rows with the same fault make one problem: that of a column is in all of them.
    void fault(const std::string& place, const std::string& message) {
        const auto hash = std::hash<std::string>()(place + ": " + message);
        if (told_.contains(hash)) return;  // the file is read once more, to evaluate on
        if (told_.size() < most_listed_rows) told_.insert(hash);
        if (const auto found = faults_.find(message); found != faults_.end()) {
            auto& same = found->second;
            if (++same.more <= most_places) base::add_item(same.places, place);
            return;
        }
        const auto at = splits_.problems.size();
        problem(place + ": " + message);
        if (splits_.problems.size() > at) faults_[message].at = at;
    }

    void problem(std::string message) {
        if (splits_.problems.size() < base::limits::listed_problems)
            splits_.problems.push_back(std::move(message));
        else
            ++untold_;
    }

    // What is told of a row, and in which others it is.
    struct Fault {
        std::size_t at = 0;     // in the problems
        std::int64_t more = 0;  // rows
        std::string places;     // of the first of these
    };
    static constexpr std::int64_t most_places = 3;

    const SplitRequest& request_;
    const config::DataConfig& data_;
    const Use& use_;
    Splits& splits_;
    HeldRows held_;
    ReadingMeter meter_;
    std::string key_, path_, target_path_;
    Paths columns_;
    std::size_t source_ = 0;
    double eval_fraction_ = 0.0;
    std::unordered_set<double> train_texts_;
    std::int64_t rows_ = 0;
    std::map<std::string, Fault> faults_;   // by what is wrong
    std::unordered_set<std::size_t> told_;  // hashes of faults with their places
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

// data.eval_fraction = 0: nothing is held out, and nothing is evaluated.
bool evaluates(const config::DataConfig& data) { return !data.eval.empty() || data.eval_fraction > 0.0; }

void require_samples(const config::DataConfig& data, const SampleSource& train, const SampleSource& eval,
                     Splits& splits) {
    if (train.size() == 0 && data.given()) {
        const auto& rows = splits.train_rows;
        const auto& held_out = data.eval.empty() ? splits.eval_rows : RowCounts{};
        const auto empty = rows.empty + held_out.empty;
        splits.problems.push_back(
            "data.train: no row can be used for training (" + std::to_string(rows.read + held_out.read) +
            " read" + (empty > 0 ? ", " + std::to_string(empty) + " without any text" : "") + ")");
        if (data.eval.empty()) return;  // nothing could have been held out
    }
    if (eval.size() == 0 && evaluates(data)) {
        splits.problems.push_back(
            data.eval.empty()
                ? "data.eval_fraction: no text was held out for evaluation; raise it or name files "
                  "in data.eval"
                : "data.eval: no row can be used for evaluation");
    }
}

// Samples of [[data.source]] in one; nullptr after a problem.
std::shared_ptr<const SampleSource> mixed(const config::DataConfig& data, std::uint64_t seed,
                                          std::vector<std::shared_ptr<const SampleSource>> sources,
                                          Splits& splits) {
    std::vector<SourceShare> shares;
    for (std::size_t i = 0; i < sources.size(); ++i) {
        auto& source = splits.sources[i];
        source.samples = sources[i]->size();
        shares.push_back({source.samples, source.weight});
        if (source.samples == 0)
            splits.problems.push_back("data.source: no row of '" + source.name +
                                      "' can be used for training (" + std::to_string(source.rows.read) +
                                      " read)");
    }
    if (!splits.problems.empty()) return nullptr;
    const auto drawn = epoch_counts(shares, data.stopping);
    if (drawn.empty()) {
        splits.problems.push_back("data.source: an epoch would have more than " + std::to_string(most_drawn) +
                                  " samples; expected weights that are less far apart, or data.stopping = "
                                  "\"first_exhausted\"");
        return nullptr;
    }
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        splits.sources[i].drawn = drawn[i];
        if (drawn[i] == 0)
            splits.warnings.push_back("data.source: no sample of '" + splits.sources[i].name +
                                      "' is drawn: its weight is too small beside the others");
    }
    return std::make_shared<Mixture>(std::move(sources), drawn, seed);
}

}  // namespace

RowUse unusable_text(std::string fault, const std::string& text, config::BadRow rule, std::size_t value) {
    const auto at = find_invalid_utf8(text);
    return {false, false, std::move(fault), rule, value, at == std::string::npos ? 0 : at};
}

RowUse too_long(std::int64_t max_length, std::size_t value) {
    return {false, false,
            "the row has more tokens than batch.max_length, " + std::to_string(max_length) +
                ", has room for; expected a shorter text, a larger batch.max_length, or data.on_long = "
                "\"truncate\"",
            config::BadRow::error, value};
}

SplitRequest text_request(const config::DataConfig& data, const std::vector<std::string>& more) {
    SplitRequest request{data, {data.text_column}};
    for (const auto& column : more)
        if (!column.empty()) request.columns.push_back(column);
    request.parallel = !data.target_train.empty() || !data.target_eval.empty();
    request.documents = !request.parallel && request.columns.size() == 1;
    return request;
}

const char* train_key(const config::DataConfig& data) {
    return data.sources.empty() ? "data.train" : "data.source";
}

const char* eval_key(const config::DataConfig& data) {
    return data.eval.empty() ? "data.train, held out" : "data.eval";
}

std::vector<config::SourceConfig> sources_of(const config::DataConfig& data) {
    if (!data.sources.empty()) return data.sources;
    config::SourceConfig only;
    only.files = data.train;
    return {only};
}

void read_splits(const SplitRequest& request, const Use& use, Splits& splits) {
    const auto& data = request.data;
    Reader reader(request, use, splits);
    reader.read_training(data.eval.empty() ? data.eval_fraction : 0.0);
    reader.read_evaluation();
    reader.tell_rest();
    warn(train_key(data), splits.train_rows, splits.warnings);
    warn(eval_key(data), splits.eval_rows, splits.warnings);
}

void set_samples(const config::DataConfig& data, std::uint64_t seed,
                 std::vector<std::shared_ptr<const SampleSource>> train,
                 std::shared_ptr<const SampleSource> eval, Splits& splits) {
    if (!splits.problems.empty()) return;
    splits.train = data.sources.empty() ? train.front() : mixed(data, seed, std::move(train), splits);
    splits.eval = std::move(eval);
    if (splits.problems.empty()) require_samples(data, *splits.train, *splits.eval, splits);
}

}  // namespace switchyard::data

#include <switchyard/data/classification_data.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <switchyard/data/rows.h>
#include <switchyard/data/split.h>

namespace switchyard::data {
namespace {

constexpr std::size_t most_problems = 20;  // more than that say the same thing again

std::string quoted_list(const std::vector<std::string>& names) {
    std::string text;
    for (const auto& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
    return text;
}

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP] cut from the longer of the two first, as BERT does.
struct Encoded {
    std::vector<std::int64_t> ids, segments;
    bool cut = false;
};

Encoded encode_pair(const WordPiece& tokenizer, const std::string& first, const std::string& second,
                    std::int64_t max_length) {
    auto a = tokenizer.encode(first);
    auto b = tokenizer.encode(second);
    Encoded result;
    const auto room = static_cast<std::size_t>(std::max<std::int64_t>(0, max_length - 3));
    while (max_length > 0 && a.size() + b.size() > room) {
        (a.size() > b.size() ? a : b).pop_back();
        result.cut = true;
    }
    auto& ids = result.ids;
    ids.push_back(tokenizer.cls_id());
    ids.insert(ids.end(), a.begin(), a.end());
    ids.push_back(tokenizer.sep_id());
    result.segments.assign(ids.size(), 0);
    ids.insert(ids.end(), b.begin(), b.end());
    ids.push_back(tokenizer.sep_id());
    result.segments.resize(ids.size(), 1);
    return result;
}

class Builder {
public:
    Builder(const config::DataConfig& data, const std::vector<std::string>& labels, std::int64_t max_length,
            const WordPiece& tokenizer)
        : data_(data), labels_(labels), max_length_(max_length), tokenizer_(tokenizer) {
        result_.train = std::make_shared<ClassificationData>();
        result_.eval = std::make_shared<ClassificationData>();
    }

    ClassificationSplits build() {
        const bool hold_out = data_.eval.empty();
        for (const auto& path : data_.train) read_file(path, hold_out ? data_.eval_share : 0.0);
        for (const auto& path : data_.eval) read_file(path, 1.0);
        if (result_.problems.empty()) check_sizes(hold_out);
        return std::move(result_);
    }

private:
    void read_file(const std::string& path, double eval_share) {
        const auto format = format_of(path);
        if (!format) {
            problem(path +
                    ": cannot tell its format from its name; expected .txt, .tsv, .csv or .jsonl, plain, .gz "
                    "or .bz2");
            return;
        }
        RowRequest request;
        request.path = path;
        request.format = *format;
        request.columns = {data_.label_column, data_.text_column};
        if (!data_.pair_column.empty()) request.columns.push_back(data_.pair_column);
        std::int64_t rows = 0;
        request.on_row = [&](Row& row) {
            add(path, row, eval_share);
            return keep_reading(++rows);
        };
        request.on_problem = [&](const RowProblem& fault) {
            auto& counts = eval_share >= 1.0 ? result_.eval_rows : result_.train_rows;
            ++counts.read;
            unusable(data_.bad_row, counts,
                     path + ":" + std::to_string(fault.line) + ": the row " + fault.message);
            return keep_reading(++rows);
        };
        const auto read = read_rows(request);
        if (!read.error.empty()) problem(read.error);
    }

    bool keep_reading(std::int64_t rows) const {
        return result_.problems.size() < most_problems && (data_.max_rows == 0 || rows < data_.max_rows);
    }

    std::optional<std::int64_t> number_of(const std::string& label) const {
        const auto found = std::find(labels_.begin(), labels_.end(), label);
        if (found != labels_.end()) return found - labels_.begin();
        for (std::size_t i = 0; i < labels_.size(); ++i) {
            if (std::to_string(i) == label) return static_cast<std::int64_t>(i);
        }
        return std::nullopt;
    }

    void add(const std::string& path, const Row& row, double eval_share) {
        const auto& text = row.values[1];
        const bool to_eval = eval_share > 0.0 && split_position(text) < eval_share;
        auto& counts = to_eval ? result_.eval_rows : result_.train_rows;
        ++counts.read;
        const auto label = number_of(row.values[0]);
        if (!label) {
            return unusable(data_.other_label, counts,
                            path + ":" + std::to_string(row.line) + ": label '" + row.values[0] +
                                "' is none of " + quoted_list(labels_) + " (task.labels)");
        }
        Encoded encoded;
        if (data_.pair_column.empty()) {
            encoded.ids = tokenizer_.encode_with_specials(text, max_length_, &encoded.cut);
        } else {
            encoded = encode_pair(tokenizer_, text, row.values[2], max_length_);
        }
        ++counts.used;
        counts.truncated += encoded.cut ? 1 : 0;
        (to_eval ? result_.eval : result_.train)
            ->add(std::move(encoded.ids), std::move(encoded.segments), *label);
    }

    void unusable(config::BadRow rule, RowCounts& counts, std::string message) {
        if (rule == config::BadRow::skip)
            ++counts.skipped;
        else
            problem(std::move(message));
    }

    void problem(std::string message) { result_.problems.push_back(std::move(message)); }

    void check_sizes(bool hold_out) {
        if (result_.train->size() == 0)
            problem("data.train: no row can be used for training (" +
                    std::to_string(result_.train_rows.read) + " read)");
        if (result_.eval->size() == 0) {
            problem(hold_out ? "data.eval_share: no text was held out for evaluation; raise it or name files "
                               "in data.eval"
                             : "data.eval: no row can be used for evaluation");
        }
    }

    const config::DataConfig& data_;
    const std::vector<std::string>& labels_;
    std::int64_t max_length_;
    const WordPiece& tokenizer_;
    ClassificationSplits result_;
};

}  // namespace

void ClassificationData::add(std::vector<std::int64_t> ids, std::vector<std::int64_t> segments,
                             std::int64_t label) {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    segments_.insert(segments_.end(), segments.begin(), segments.end());
    ends_.push_back(static_cast<std::int64_t>(ids_.size()));
    labels_.push_back(static_cast<std::int32_t>(label));
}

std::int64_t ClassificationData::length(std::int64_t index) const {
    const auto i = static_cast<std::size_t>(index);
    return ends_.at(i) - (i == 0 ? 0 : ends_[i - 1]);
}

Sample ClassificationData::get(std::int64_t index, std::int64_t) const {
    const auto end = ends_.at(static_cast<std::size_t>(index));
    const auto begin = end - length(index);
    Sample sample;
    sample.ids.assign(ids_.begin() + begin, ids_.begin() + end);
    if (!segments_.empty()) sample.segments.assign(segments_.begin() + begin, segments_.begin() + end);
    sample.labels = {labels_[static_cast<std::size_t>(index)]};
    return sample;
}

ClassificationSplits read_classification(const config::DataConfig& data,
                                         const std::vector<std::string>& labels, std::int64_t max_length,
                                         const WordPiece& tokenizer) {
    return Builder(data, labels, max_length, tokenizer).build();
}

}  // namespace switchyard::data

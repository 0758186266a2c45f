#include "core/workbench/data/classification_data.h"

#include <algorithm>

#include "core/kernel/base/printable.h"
#include "core/workbench/data/labels.h"

namespace switchyard::data {
namespace {

bool blank(const std::string& text) { return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos; }

// What can be read and is most likely not meant: labels that no sample has.
void warn(const char* key, const std::vector<std::int64_t>& counts, const std::vector<std::string>& labels,
          std::vector<std::string>& warnings) {
    std::vector<std::string> unseen;
    std::size_t seen = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (counts[i] == 0)
            unseen.push_back(labels[i]);
        else
            seen = i;
    }
    if (unseen.empty() || unseen.size() == labels.size()) return;
    if (unseen.size() + 1 == labels.size())
        warnings.push_back(std::string(key) + ": all " + std::to_string(counts[seen]) +
                           " samples have the label '" + base::quoted(labels[seen]) +
                           "': there is nothing to tell apart");
    warnings.push_back(std::string(key) + ": no sample has the label " + quoted_list(unseen) +
                       " (task.labels)");
}

// [CLS] a [SEP], or [CLS] a [SEP] b [SEP] cut from the longer of the two first, as BERT does.
struct Encoded {
    std::vector<std::int64_t> ids, token_type_ids;
    bool cut = false;
};

Encoded encode_pair(const Tokenizer& tokenizer, const std::string& first, const std::string& second,
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
    ids.push_back(tokenizer.specials().bos);
    ids.insert(ids.end(), a.begin(), a.end());
    ids.push_back(tokenizer.specials().eos);
    result.token_type_ids.assign(ids.size(), 0);
    ids.insert(ids.end(), b.begin(), b.end());
    ids.push_back(tokenizer.specials().eos);
    result.token_type_ids.resize(ids.size(), 1);
    return result;
}

}  // namespace

void ClassificationData::add(const std::vector<std::int64_t>& ids,
                             const std::vector<std::int64_t>& token_type_ids, std::int64_t label) {
    texts_.add(ids);
    segments_.insert(segments_.end(), token_type_ids.begin(), token_type_ids.end());
    labels_.push_back(static_cast<std::int32_t>(label));
}

Sample ClassificationData::get(std::int64_t index, std::int64_t) const {
    const auto ids = texts_.text(index);
    Sample sample;
    sample.ids.assign(ids.begin(), ids.end());
    if (!segments_.empty())
        sample.token_type_ids.assign(segments_.begin() + texts_.begin(index),
                                     segments_.begin() + texts_.end(index));
    sample.labels = {labels_[static_cast<std::size_t>(index)]};
    return sample;
}

Splits read_classification(const config::DataConfig& data, const std::vector<std::string>& labels,
                           std::int64_t max_length, const Tokenizer& tokenizer) {
    const auto train = std::make_shared<ClassificationData>();
    const auto eval = std::make_shared<ClassificationData>();
    SplitRequest request{data, {data.label_column, data.text_column}, 1};
    if (!data.pair_column.empty()) request.columns.push_back(data.pair_column);
    std::vector<std::int64_t> train_counts(labels.size()), eval_counts(labels.size());
    Splits splits;
    splits.train = train;
    splits.eval = eval;
    const auto use = [&](const std::string&, const Row& row, bool to_eval) {
        const auto label = label_number(labels, row.values[0]);
        if (!label) return RowUse{false, false, unknown_label(labels, row.values[0]), data.other_label};
        if (std::all_of(row.values.begin() + 1, row.values.end(), blank)) return RowUse{false, false, "", {}};
        for (auto text = row.values.begin() + 1; text != row.values.end(); ++text) {
            const auto at =
                data.tokenizer == config::TokenizerKind::bytes ? std::string::npos : find_invalid_utf8(*text);
            if (at != std::string::npos)
                return RowUse{false, false, "is no valid UTF-8 at byte " + std::to_string(at + 1),
                              data.bad_row};
        }
        Encoded encoded;
        if (data.pair_column.empty()) {
            encoded.ids = tokenizer.encode_with_specials(row.values[1], max_length, &encoded.cut);
        } else {
            encoded = encode_pair(tokenizer, row.values[1], row.values[2], max_length);
        }
        ++(to_eval ? eval_counts : train_counts)[static_cast<std::size_t>(*label)];
        (to_eval ? eval : train)->add(encoded.ids, encoded.token_type_ids, *label);
        return RowUse{true, encoded.cut, "", {}};
    };
    read_splits(request, use, splits);
    require_samples(data, splits);
    warn("data.train", train_counts, labels, splits.warnings);
    warn(data.eval.empty() ? "data.train, held out" : "data.eval", eval_counts, labels, splits.warnings);
    return splits;
}

}  // namespace switchyard::data

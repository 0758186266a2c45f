#include <switchyard/data/classification_data.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace switchyard::data {
namespace {

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
    result.segments.assign(ids.size(), 0);
    ids.insert(ids.end(), b.begin(), b.end());
    ids.push_back(tokenizer.specials().eos);
    result.segments.resize(ids.size(), 1);
    return result;
}

std::optional<std::int64_t> number_of(const std::vector<std::string>& labels, const std::string& label) {
    const auto found = std::find(labels.begin(), labels.end(), label);
    if (found != labels.end()) return found - labels.begin();
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (std::to_string(i) == label) return static_cast<std::int64_t>(i);
    }
    return std::nullopt;
}

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

Splits read_classification(const config::DataConfig& data, const std::vector<std::string>& labels,
                           std::int64_t max_length, const Tokenizer& tokenizer) {
    const auto train = std::make_shared<ClassificationData>();
    const auto eval = std::make_shared<ClassificationData>();
    SplitRequest request{data, {data.label_column, data.text_column}, 1};
    if (!data.pair_column.empty()) request.columns.push_back(data.pair_column);
    Splits splits;
    splits.train = train;
    splits.eval = eval;
    const auto use = [&](const std::string&, const Row& row, bool to_eval) {
        const auto label = number_of(labels, row.values[0]);
        if (!label) {
            return RowUse{
                false, false,
                "label '" + row.values[0] + "' is none of " + quoted_list(labels) + " (task.labels)",
                data.other_label};
        }
        Encoded encoded;
        if (data.pair_column.empty()) {
            encoded.ids = tokenizer.encode_with_specials(row.values[1], max_length, &encoded.cut);
        } else {
            encoded = encode_pair(tokenizer, row.values[1], row.values[2], max_length);
        }
        (to_eval ? eval : train)->add(std::move(encoded.ids), std::move(encoded.segments), *label);
        return RowUse{true, encoded.cut, "", {}};
    };
    read_splits(request, use, splits);
    require_samples(data, splits);
    return splits;
}

}  // namespace switchyard::data

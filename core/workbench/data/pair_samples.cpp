#include "core/workbench/data/pair_samples.h"

namespace switchyard::data {
namespace {

std::vector<std::int64_t> encoded(const Tokenizer& tokenizer, const std::string& text,
                                  std::int64_t max_length, bool& cut) {
    auto ids = tokenizer.encode(text);
    const auto room = static_cast<std::size_t>(max_length - 1);
    if (ids.size() > room) {
        ids.resize(room);
        cut = true;
    }
    ids.push_back(tokenizer.specials().eos);
    return ids;
}

}  // namespace

void PairSamples::add(const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& target) {
    sources_.add(source);
    targets_.add(target);
}

Sample PairSamples::get(std::int64_t index, std::int64_t) const {
    const auto source = sources_.text(index), target = targets_.text(index);
    Sample sample;
    sample.ids.assign(source.begin(), source.end());
    sample.labels.assign(target.begin(), target.end());
    sample.target_ids = {start_};
    sample.target_ids.insert(sample.target_ids.end(), target.begin(), target.end() - 1);
    return sample;
}

Splits read_pairs(const config::DataConfig& data, std::int64_t max_length, const Tokenizer& tokenizer) {
    const auto start = tokenizer.specials().pad;
    std::vector<std::shared_ptr<PairSamples>> train;  // of each source
    for (std::size_t i = sources_of(data).size(); i > 0; --i)
        train.push_back(std::make_shared<PairSamples>(start));
    const auto eval = std::make_shared<PairSamples>(start);
    Splits splits;
    SplitRequest request{data, {data.text_column, data.target_column}};
    request.parallel = data.target_column.empty();
    const auto use = [&](const RowWay& way, const Row& row) {
        for (std::size_t i = 0; i < row.values.size(); ++i) {
            const auto& text = row.values[i];
            if (text.find_first_not_of(" \t\r\n\v\f") == std::string::npos)
                return RowUse{false, false, "", {}};
            if (auto fault = tokenizer.problem_in(text); !fault.empty())
                return unusable_text(std::move(fault), text, data.bad_row, i);
        }
        RowUse used;
        const auto source = encoded(tokenizer, row.values[0], max_length, used.truncated);
        const auto target = encoded(tokenizer, row.values[1], max_length, used.truncated);
        if (used.truncated && data.on_long == config::LongText::error) return too_long(max_length, 0);
        (way.eval ? eval : train[way.source])->add(source, target);
        return used;
    };
    read_splits(request, use, splits);
    set_samples(data, 0, {train.begin(), train.end()}, eval, splits);
    return splits;
}

}  // namespace switchyard::data

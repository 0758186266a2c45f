#include "core/workbench/data/pair_samples.h"

#include <optional>

namespace switchyard::data {
namespace {

std::vector<std::int64_t> ended(std::vector<std::int64_t> ids, std::int64_t eos, std::int64_t max_length,
                                bool& cut) {
    const auto room = static_cast<std::size_t>(max_length - 1);
    if (ids.size() > room) {
        ids.resize(room);
        cut = true;
    }
    ids.push_back(eos);
    return ids;
}

SplitRequest request_of(const config::DataConfig& data, const Tokenizer& tokenizer) {
    SplitRequest request{data, {data.text_column, data.target_column}};
    request.parallel = data.target_column.empty();
    request.tokenizer = &tokenizer;
    return request;
}

std::optional<RowUse> why_unusable(const Row& row, const config::DataConfig& data,
                                   const Tokenizer& tokenizer) {
    for (std::size_t i = 0; i < row.values.size(); ++i) {
        const auto& text = row.values[i];
        if (text.find_first_not_of(" \t\r\n\v\f") == std::string::npos) return RowUse{false, false, "", {}};
        if (auto fault = tokenizer.problem_in(text); !fault.empty())
            return unusable_text(std::move(fault), text, data.bad_row, i);
    }
    return std::nullopt;
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

Splits read_pairs(const config::DataConfig& data, std::int64_t max_length, const Tokenizer& tokenizer,
                  std::uint64_t seed) {
    const auto start = tokenizer.specials().pad;
    std::vector<std::shared_ptr<PairSamples>> train;  // of each source
    for (std::size_t i = sources_of(data).size(); i > 0; --i)
        train.push_back(std::make_shared<PairSamples>(start));
    const auto eval = std::make_shared<PairSamples>(start);
    Splits splits;
    const auto request = request_of(data, tokenizer);
    const auto use = [&](const RowWay& way, const Row& row) -> RowWork {
        if (auto unusable = why_unusable(row, data, tokenizer)) return *unusable;
        const auto take = [&, to = way.eval ? eval : train[way.source]](TokenLists tokens) {
            RowUse used;
            const auto eos = tokenizer.specials().eos;
            const auto source = ended(std::move(tokens[0]), eos, max_length, used.truncated);
            const auto target = ended(std::move(tokens[1]), eos, max_length, used.truncated);
            if (used.truncated && data.on_long == config::LongText::error) return too_long(max_length, 0);
            to->add(source, target);
            return used;
        };
        return {{row.values[0], row.values[1]}, take};
    };
    read_splits(request, use, splits);
    set_samples(data, seed, {train.begin(), train.end()}, eval, splits);
    return splits;
}

std::vector<TextPair> read_text_pairs(const config::DataConfig& data, const Tokenizer& tokenizer,
                                      std::size_t most) {
    std::vector<TextPair> pairs;
    Splits splits;
    const auto use = [&](const RowWay& way, const Row& row) -> RowWork {
        if (auto unusable = why_unusable(row, data, tokenizer)) return *unusable;
        if (way.eval && (most == 0 || pairs.size() < most)) pairs.push_back({row.values[0], row.values[1]});
        return RowUse{};
    };
    read_splits(request_of(data, tokenizer), use, splits);
    return pairs;
}

}  // namespace switchyard::data

#include "core/workbench/data/text_samples.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace switchyard::data {

Sample TextSamples::get(std::int64_t index, std::int64_t) const {
    const auto text = texts_->text(index);
    Sample sample;
    sample.ids.assign(text.begin(), text.end());
    if (next_.wanted) {
        sample.labels.assign(text.begin() + 1, text.end());
        sample.labels.push_back(next_.eos);
    }
    return sample;
}

BlockSamples::BlockSamples(std::shared_ptr<const TokenStore> texts, std::int64_t block, bool documents,
                           NextToken next)
    : texts_(std::move(texts)), block_(block), documents_(documents), next_(next) {
    std::int64_t text = 0;
    for (std::int64_t begin = 0; begin < texts_->tokens(); begin += block_) {
        while (texts_->end(text) <= begin) ++text;
        first_texts_.push_back(text);
    }
}

std::int64_t BlockSamples::length(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::out_of_range("block " + std::to_string(index));
    return std::min(block_, texts_->tokens() - index * block_);
}

Sample BlockSamples::get(std::int64_t index, std::int64_t) const {
    const auto begin = index * block_, end = begin + length(index);
    const auto ids = texts_->part(begin, end);
    Sample sample;
    sample.ids.assign(ids.begin(), ids.end());
    std::int64_t text = first_texts_[static_cast<std::size_t>(index)];
    for (auto at = begin; at < end; ++text) {
        const auto stop = std::min(end, texts_->end(text));
        if (documents_) sample.documents.push_back(stop - at);
        if (next_.wanted) {
            const bool ended = stop == texts_->end(text);
            const auto following = texts_->part(at + 1, ended ? stop : stop + 1);
            sample.labels.insert(sample.labels.end(), following.begin(), following.end());
            if (ended) sample.labels.push_back(next_.eos);
        }
        at = stop;
    }
    return sample;
}

}  // namespace switchyard::data

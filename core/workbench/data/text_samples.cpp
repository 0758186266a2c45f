#include "core/workbench/data/text_samples.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace switchyard::data {

TextSamples::TextSamples(std::shared_ptr<const TokenTexts> texts, Marks marks, TextRoom room, NextToken next)
    : texts_(std::move(texts)), marks_(marks), room_(room), next_(next) {
    if (!room_.split || room_.tokens == 0 || texts_->longest() <= room_.tokens) return;
    std::int64_t parts = 0;
    for (std::int64_t text = 0; text < texts_->size(); ++text)
        part_ends_.push_back(parts += (texts_->length(text) + room_.tokens - 1) / room_.tokens);
}

std::int64_t TextSamples::size() const { return part_ends_.empty() ? texts_->size() : part_ends_.back(); }

TextSamples::Part TextSamples::part(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::out_of_range("text " + std::to_string(index));
    std::int64_t text = index, number = 0;
    if (!part_ends_.empty()) {
        const auto found = std::upper_bound(part_ends_.begin(), part_ends_.end(), index);
        text = found - part_ends_.begin();
        number = index - (text == 0 ? 0 : part_ends_[static_cast<std::size_t>(text - 1)]);
    }
    const auto begin = texts_->begin(text) + number * room_.tokens, whole = texts_->end(text);
    const auto end = room_.tokens == 0 ? whole : std::min(whole, begin + room_.tokens);
    return {begin, end, room_.split && end < whole};
}

std::int64_t TextSamples::length(std::int64_t index) const {
    const auto at = part(index);
    return at.end - at.begin + marks_.count();
}

Sample TextSamples::get(std::int64_t index, std::int64_t) const {
    const auto at = part(index);
    Sample sample;
    if (marks_.bos >= 0) sample.ids.push_back(marks_.bos);
    texts_->append(at.begin, at.end, sample.ids);
    if (marks_.eos >= 0) sample.ids.push_back(marks_.eos);
    if (next_.wanted) {
        sample.labels.assign(sample.ids.begin() + 1, sample.ids.end());
        if (at.goes_on)
            texts_->append(at.end, at.end + 1, sample.labels);
        else
            sample.labels.push_back(next_.eos);
    }
    return sample;
}

std::int64_t BlockSamples::length(std::int64_t index) const {
    if (index < 0 || index >= size()) throw std::out_of_range("block " + std::to_string(index));
    return std::min(block_, tokens() - index * block_);
}

std::int64_t BlockSamples::text_at(std::int64_t token) const {
    std::int64_t first = 0, behind = texts_->size();
    while (first < behind) {
        const auto middle = first + (behind - first) / 2;
        if (end(middle) <= token)
            first = middle + 1;
        else
            behind = middle;
    }
    return first;
}

void BlockSamples::append(std::int64_t text, std::int64_t begin, std::int64_t end,
                          std::vector<std::int64_t>& to) const {
    if (begin >= end) return;
    const auto stop = this->end(text);
    const auto start = stop - texts_->length(text) - marks_.count();
    const auto bos = marks_.bos >= 0 ? 1 : 0, eos = marks_.eos >= 0 ? 1 : 0;
    if (bos > 0 && begin == start) to.push_back(marks_.bos);
    const auto shift = texts_->begin(text) - start - bos;
    const auto first = std::max(begin, start + bos), last = std::min(end, stop - eos);
    if (first < last) texts_->append(first + shift, last + shift, to);
    if (eos > 0 && end == stop) to.push_back(marks_.eos);
}

Sample BlockSamples::get(std::int64_t index, std::int64_t) const {
    const auto begin = index * block_, behind = begin + length(index);
    Sample sample;
    std::int64_t text = text_at(begin);
    for (auto at = begin; at < behind; ++text) {
        const bool ended = end(text) <= behind;
        const auto stop = ended ? end(text) : behind;
        append(text, at, stop, sample.ids);
        if (documents_) sample.documents.push_back(stop - at);
        if (next_.wanted) {
            append(text, at + 1, ended ? stop : stop + 1, sample.labels);
            if (ended) sample.labels.push_back(next_.eos);
        }
        at = stop;
    }
    return sample;
}

}  // namespace switchyard::data

#include "core/workbench/data/span_samples.h"

#include <algorithm>
#include <cmath>

namespace switchyard::data {
namespace {

// Lengths of `parts` parts of `total`, none empty.
std::vector<std::int64_t> draw_parts(std::int64_t total, std::int64_t parts, SplitMix64& random) {
    std::vector<std::int64_t> lengths{0};
    auto borders = parts - 1;
    for (std::int64_t i = 1; i <= total; ++i) {
        ++lengths.back();
        // Selection sampling: of the places that are left, as many as are still to be chosen.
        if (i < total && random.below(total - i) < borders) {
            lengths.push_back(0);
            --borders;
        }
    }
    return lengths;
}

std::int64_t source_length(std::int64_t length, const SpanCounts& counts) {
    return length - counts.tokens + counts.spans + 1;
}

std::int64_t target_tokens(const SpanCounts& counts) { return counts.tokens + counts.spans + 2; }

}  // namespace

SpanCounts count_spans(std::int64_t length, const SpanRule& rule) {
    if (length < 2) return {};
    SpanCounts counts;
    counts.tokens =
        std::clamp<std::int64_t>(std::llround(rule.share * static_cast<double>(length)), 1, length - 1);
    counts.spans = std::llround(static_cast<double>(counts.tokens) / rule.mean_length);
    counts.spans = std::clamp<std::int64_t>(counts.spans, 1, std::min(counts.tokens, length - counts.tokens));
    return counts;
}

std::vector<bool> draw_spans(std::int64_t length, const SpanCounts& counts, SplitMix64& random) {
    std::vector<bool> cut(static_cast<std::size_t>(length), false);
    if (counts.spans == 0) return cut;
    const auto spans = draw_parts(counts.tokens, counts.spans, random);
    // Where a span may also be the last, the text after it may be empty: one part more of one token more.
    auto kept = draw_parts(length - counts.tokens + 1, counts.spans + 1, random);
    std::size_t at = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        at += static_cast<std::size_t>(kept[i]);
        for (std::int64_t j = 0; j < spans[i]; ++j) cut[at++] = true;
    }
    return cut;
}

CorruptedText cut_spans(const std::vector<std::int64_t>& ids, const std::vector<bool>& cut,
                        std::int64_t first_sentinel) {
    CorruptedText text;
    auto sentinel = first_sentinel;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (!cut[i]) {
            text.source.push_back(ids[i]);
            continue;
        }
        if (i == 0 || !cut[i - 1]) {
            text.source.push_back(sentinel);
            text.target.push_back(sentinel--);
        }
        text.target.push_back(ids[i]);
    }
    text.target.push_back(sentinel);
    return text;
}

std::int64_t longest_span_text(std::int64_t max_length, const SpanRule& rule) {
    // A text is at most as long as both sides together.
    for (auto length = 2 * max_length; length > 1; --length) {
        const auto counts = count_spans(length, rule);
        if (source_length(length, counts) <= max_length && target_tokens(counts) <= max_length) return length;
    }
    return 0;
}

std::int64_t SpanSamples::length(std::int64_t index) const {
    const auto length = texts_->length(index);
    const auto counts = count_spans(length, rule_);
    return source_length(length, counts) + target_tokens(counts);
}

std::int64_t SpanSamples::target_length(std::int64_t index) const {
    return target_tokens(count_spans(texts_->length(index), rule_));
}

Sample SpanSamples::get(std::int64_t index, std::int64_t epoch) const {
    const auto ids = texts_->get(index, epoch).ids;
    const auto length = static_cast<std::int64_t>(ids.size());
    SplitMix64 random(seed_, index, epoch);
    auto text =
        cut_spans(ids, draw_spans(length, count_spans(length, rule_), random), numbers_.first_sentinel);
    Sample sample;
    sample.ids = std::move(text.source);
    sample.ids.push_back(numbers_.eos);
    sample.target_ids = {numbers_.start};
    sample.target_ids.insert(sample.target_ids.end(), text.target.begin(), text.target.end());
    sample.labels = std::move(text.target);
    sample.labels.push_back(numbers_.eos);
    return sample;
}

}  // namespace switchyard::data

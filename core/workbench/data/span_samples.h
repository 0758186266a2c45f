// Span corruption, T5's pre-training (Raffel et al. 2020, arXiv:1910.10683, sections 3.1.4 and 3.3.4): spans
// of a text are cut out, a sentinel stands for each, and the answer is what was cut out, each span after its
// sentinel, with one more sentinel at the end. Sentinels are the last words of the vocabulary, counted down.
//
//     Thank you for inviting me to your party last week
//     source  Thank you <X> me to your party <Y> week
//     target  <X> for inviting <Y> last <Z>
#pragma once

#include <memory>

#include <switchyard/interfaces/data_loader.h>
#include "core/workbench/data/splitmix64.h"

namespace switchyard::data {

struct SpanRule {
    double share = 0.15;       // of the tokens that are cut out
    double mean_length = 3.0;  // of a span
};

// Their numbers follow from the text's length alone: round(share * length) tokens, one at least and not all,
// in round(tokens / mean_length) spans, as many as there is room for. No span stands at the beginning, no two
// touch.
struct SpanCounts {
    std::int64_t tokens = 0;
    std::int64_t spans = 0;
};
SpanCounts count_spans(std::int64_t length, const SpanRule& rule);

// Which tokens are cut out: each way to do so with these counts is as likely.
std::vector<bool> draw_spans(std::int64_t length, const SpanCounts& counts, SplitMix64& random);

struct CorruptedText {
    std::vector<std::int64_t> source, target;
};
CorruptedText cut_spans(const std::vector<std::int64_t>& ids, const std::vector<bool>& cut,
                        std::int64_t first_sentinel);

// The longest text whose source and target, with eos, have at most `max_length` tokens; 0: none.
std::int64_t longest_span_text(std::int64_t max_length, const SpanRule& rule);

// source: the rest of the text, eos. target_ids: pad and the answer; labels: the answer, eos.
class SpanSamples final : public SampleSource {
public:
    struct Numbers {
        std::int64_t start;  // what the decoder begins with
        std::int64_t eos;
        std::int64_t first_sentinel;  // the next one is one less
    };
    SpanSamples(std::shared_ptr<const SampleSource> texts, const SpanRule& rule, const Numbers& numbers,
                std::uint64_t seed)
        : texts_(std::move(texts)), rule_(rule), numbers_(numbers), seed_(seed) {}

    std::int64_t size() const override { return texts_->size(); }
    std::int64_t length(std::int64_t index) const override;
    std::int64_t target_length(std::int64_t index) const override;
    Sample get(std::int64_t index, std::int64_t epoch) const override;

private:
    std::shared_ptr<const SampleSource> texts_;
    SpanRule rule_;
    Numbers numbers_;
    std::uint64_t seed_;
};

}  // namespace switchyard::data

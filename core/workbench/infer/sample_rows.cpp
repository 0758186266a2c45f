#include "core/workbench/infer/sample_rows.h"

#include <numeric>
#include <utility>

#include "core/workbench/data/splitmix64.h"
#include "core/workbench/infer/logits/logits_table.h"

namespace switchyard::infer {
namespace {

struct SampledRow {
    std::size_t prompt, sample;
    Ids tokens;  // all of it
    std::int64_t room;
    data::SplitMix64 random;
};

bool is_identity(const std::vector<std::int64_t>& rows, std::size_t all) {
    if (rows.size() != all) return false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] != static_cast<std::int64_t>(i)) return false;
    }
    return true;
}

// Rows that go through the model together.
class SampledBatch {
public:
    SampledBatch(GrowingRows& rows, const TokenChooser& chooser, const GenerationRequest& request,
                 const GenerationHooks& hooks, GeneratedSamples& results)
        : rows_(rows), chooser_(chooser), request_(request), hooks_(hooks), results_(results) {}

    // Samples `first` to `last` of all, counted prompt by prompt.
    void run(std::int64_t first, std::int64_t last, GenerationSpeed& speed) {
        GenerationClock clock(speed);
        const auto read = begin(first, last);
        choose();
        clock.prefilled(read);
        while (!live_.empty()) {
            if (hooks_.stop()) return;  // as results were begun
            append();
            const auto came = static_cast<std::int64_t>(live_.size());
            choose();
            clock.decoded(came);
        }
    }

private:
    // How many tokens were read.
    std::int64_t begin(std::int64_t first, std::int64_t last) {
        std::vector<Beginning> prompts;
        std::int64_t read = 0;
        std::size_t prompt_of_last = 0;
        for (auto i = first; i < last; ++i) {
            const auto prompt = static_cast<std::size_t>(i / request_.samples);
            const auto sample = i % request_.samples;
            const auto& beginning = request_.prompts[prompt];
            if (prompts.empty() || prompt != prompt_of_last) {
                prompts.push_back(beginning);
                read += static_cast<std::int64_t>(beginning.source.size() + beginning.grown.size());
            }
            prompt_of_last = prompt;
            places_.push_back(static_cast<std::int64_t>(prompts.size()) - 1);
            live_.push_back({prompt, static_cast<std::size_t>(sample), beginning.grown,
                             request_.room(beginning),
                             data::SplitMix64(request_.seed, request_.first_sample + sample, 0)});
            result_of(live_.back()).end = End::interrupted;
        }
        logits_ = LogitsTable(rows_.begin(prompts));
        known_ = prompts.size();
        return read;
    }

    Generated& result_of(const SampledRow& row) { return results_[row.prompt][row.sample]; }

    // One more token for each by the logits at its place; rows that have ended leave.
    void choose() {
        std::vector<SampledRow> left;
        std::vector<std::int64_t> places;
        for (std::size_t i = 0; i < live_.size(); ++i) {
            if (!grow(live_[i], logits_[static_cast<std::size_t>(places_[i])])) continue;
            left.push_back(std::move(live_[i]));
            places.push_back(places_[i]);
        }
        live_ = std::move(left);
        places_ = std::move(places);
    }

    bool grow(SampledRow& row, std::span<const float> logits) {
        auto& result = result_of(row);
        const auto end = [&](End how) {
            result.end = how;
            return false;
        };
        const auto token = chooser_.choose(logits, row.tokens, row.random.share());
        if (request_.ends_at(token)) return end(request_.end_at(token));
        result.ids.push_back(token);
        row.tokens.push_back(token);
        if (hooks_.ended && hooks_.ended(row.prompt, row.sample, result.ids)) return end(End::stop);
        return static_cast<std::int64_t>(result.ids.size()) < row.room || end(End::limit);
    }

    void append() {
        if (!is_identity(places_, known_)) rows_.select(places_);
        std::vector<Ids> tokens;
        for (const auto& row : live_) tokens.push_back({row.tokens.back()});
        logits_ = LogitsTable(rows_.append(tokens));
        known_ = live_.size();
        places_.resize(known_);
        std::iota(places_.begin(), places_.end(), 0);
    }

    GrowingRows& rows_;
    const TokenChooser& chooser_;
    const GenerationRequest& request_;
    const GenerationHooks& hooks_;
    GeneratedSamples& results_;
    std::vector<SampledRow> live_;
    std::vector<std::int64_t> places_;  // of each among the model's rows, and in the logits
    std::size_t known_ = 0;             // rows that the model has
    LogitsTable logits_;
};

}  // namespace

GeneratedSamples sample_rows(GrowingRows& rows, const TokenChooser& chooser, const GenerationRequest& request,
                             const GenerationHooks& hooks, GenerationSpeed& speed) {
    GeneratedSamples results(request.prompts.size(),
                             std::vector<Generated>(static_cast<std::size_t>(request.samples),
                                                    Generated{{}, End::interrupted, 0.0}));
    const auto all = static_cast<std::int64_t>(request.prompts.size()) * request.samples;
    for (std::int64_t first = 0; first < all && !hooks.stop(); first += request.batch)
        SampledBatch(rows, chooser, request, hooks, results)
            .run(first, std::min(first + request.batch, all), speed);
    return results;
}

}  // namespace switchyard::infer

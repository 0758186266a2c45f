#include "core/workbench/data/masked_samples.h"

#include <utility>

#include "core/workbench/data/splitmix64.h"
#include "core/workbench/data/whole_words.h"

namespace switchyard::data {

MaskedSamples::MaskedSamples(std::shared_ptr<const SampleSource> texts, const Tokenizer& tokenizer,
                             const Masking& masking, std::uint64_t seed)
    : texts_(std::move(texts)), specials_(tokenizer.specials()), masking_(masking), seed_(seed) {
    for (std::int64_t id = 0; id < tokenizer.size(); ++id) {
        if (!specials_.holds(id)) words_.push_back(id);
    }
    if (masking_.whole_words) continues_ = word_continuations(tokenizer);
}

Sample MaskedSamples::get(std::int64_t index, std::int64_t epoch) const {
    constexpr std::int64_t no_label = -100;
    auto sample = texts_->get(index, epoch);
    auto& ids = sample.ids;
    SplitMix64 random(seed_, index, epoch);
    struct Word {
        std::size_t begin, end;
    };
    std::vector<Word> open;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (specials_.holds(ids[i])) continue;
        const bool goes_on = !continues_.empty() && continues_[static_cast<std::size_t>(ids[i])] &&
                             !open.empty() && open.back().end == i;
        if (goes_on)
            ++open.back().end;
        else
            open.push_back({i, i + 1});
    }
    std::vector<std::size_t> chosen;
    const auto choose = [&](const Word& word) {
        for (auto i = word.begin; i < word.end; ++i) chosen.push_back(i);
    };
    for (const auto& word : open) {
        if (random.share() < masking_.share) choose(word);
    }
    if (chosen.empty() && !open.empty())
        choose(open[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(open.size())))]);
    sample.labels.assign(ids.size(), no_label);
    for (const auto i : chosen) {
        sample.labels[i] = ids[i];
        const double fate = random.share();
        if (fate < masking_.mask_share) {
            ids[i] = specials_.mask;
        } else if (fate < masking_.mask_share + masking_.random_share) {
            const auto word = random.below(static_cast<std::int64_t>(words_.size()));
            ids[i] = words_[static_cast<std::size_t>(word)];
        }
    }
    return sample;
}

}  // namespace switchyard::data

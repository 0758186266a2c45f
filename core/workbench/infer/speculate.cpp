#include "core/workbench/infer/speculate.h"

#include <algorithm>
#include <utility>

#include "core/workbench/data/splitmix64.h"
#include "core/workbench/infer/logits/logits_table.h"

namespace switchyard::infer {
namespace {

double probability_of(const Candidates& candidates, std::int64_t token) {
    const auto found = std::ranges::lower_bound(candidates, token, {}, &Candidate::token);
    return found != candidates.end() && found->token == token ? found->probability : 0.0;
}

// One sample of one prompt.
class SpeculatedRow {
public:
    SpeculatedRow(GrowingRows& rows, const Draft& draft, const TokenChooser& chooser,
                  const GenerationRequest& request, const GenerationHooks& hooks, Speculation& told,
                  std::size_t prompt, std::size_t sample)
        : rows_(rows),
          draft_(draft),
          chooser_(chooser),
          request_(request),
          hooks_(hooks),
          told_(told),
          prompt_(prompt),
          sample_(sample),
          tokens_(request.prompts[prompt].grown),
          room_(request.room(request.prompts[prompt])),
          random_(request.seed, request.first_sample + static_cast<std::int64_t>(sample), 0),
          known_to_draft_(tokens_.size()) {
        const auto longest = std::max(tokens_.size(), request.prompts[prompt].source.size());
        drafts_ = static_cast<std::int64_t>(longest) <= draft.max_length;
    }

    Generated run(GenerationSpeed& speed) {
        GenerationClock clock(speed);
        const auto& beginning = request_.prompts[prompt_];
        const LogitsTable logits(rows_.begin({beginning}));
        if (drafts_) draft_.rows.begin({beginning});
        push(chooser_.choose(logits[0], tokens_, random_.share()));
        clock.prefilled(static_cast<std::int64_t>(beginning.source.size() + beginning.grown.size()));
        while (!ended_) {
            if (hooks_.stop()) {
                result_.end = End::interrupted;
                break;
            }
            const auto before = result_.ids.size();
            round();
            clock.decoded(static_cast<std::int64_t>(result_.ids.size() - before));
        }
        return std::move(result_);
    }

private:
    // The large model knows all tokens but the last.
    void round() {
        const auto drafted = propose(draft_length());
        Ids looked_at{tokens_.back()};
        for (const auto& one : drafted) looked_at.push_back(one.token);
        const LogitsTable logits(rows_.append({looked_at}));

        std::size_t accepted = 0;
        std::int64_t next = -1;
        auto row = tokens_;
        for (; accepted < drafted.size(); ++accepted) {
            const auto& [token, q] = drafted[accepted];
            const auto p = chooser_.candidates(logits[accepted], row);
            if (random_.share() * probability_of(q, token) >= probability_of(p, token)) {
                next = drawn_from_rest(p, q, random_.share());
                break;
            }
            row.push_back(token);
        }
        if (accepted == drafted.size()) next = chooser_.choose(logits[accepted], row, random_.share());
        settle(drafted.size(), accepted);
        for (std::size_t i = 0; i < accepted && !ended_; ++i) push(drafted[i].token);
        if (!ended_) push(next);
    }

    struct Drafted {
        std::int64_t token;
        Candidates q;  // what it was drawn from
    };

    // As many as there is room for, in the text and in both models.
    std::size_t draft_length() const {
        if (!drafts_) return 0;
        const auto length = static_cast<std::int64_t>(tokens_.size());
        const auto left = room_ - static_cast<std::int64_t>(result_.ids.size()) - 1;
        return static_cast<std::size_t>(std::max<std::int64_t>(
            std::min({draft_.tokens, left, request_.max_length - length, draft_.max_length - length}), 0));
    }

    std::vector<Drafted> propose(std::size_t count) {
        std::vector<Drafted> drafted;
        auto row = tokens_;
        while (drafted.size() < count) {
            const auto next =
                drafted.empty()
                    ? Ids(tokens_.begin() + static_cast<std::ptrdiff_t>(known_to_draft_), tokens_.end())
                    : Ids{drafted.back().token};
            const LogitsTable logits(draft_.rows.append({next}));
            auto q = chooser_.candidates(logits[next.size() - 1], row);
            const auto token = drawn(q, random_.share());
            drafted.push_back({token, std::move(q)});
            if (request_.ends_at(token)) break;
            row.push_back(token);
        }
        return drafted;
    }

    // Takes back what was not accepted. The draft never saw its own last token.
    void settle(std::size_t drafted, std::size_t accepted) {
        if (drafted == 0) return;
        ++told_.rounds;
        told_.drafted += static_cast<std::int64_t>(drafted);
        told_.accepted += static_cast<std::int64_t>(accepted);
        const auto seen = std::min(accepted, drafted - 1);
        if (accepted < drafted) rows_.take_back({static_cast<std::int64_t>(drafted - accepted)});
        if (seen < drafted - 1) draft_.rows.take_back({static_cast<std::int64_t>(drafted - 1 - seen)});
        known_to_draft_ = tokens_.size() + seen;
    }

    void push(std::int64_t token) {
        const auto end = [&](End how) {
            result_.end = how;
            ended_ = true;
        };
        if (request_.ends_at(token)) return end(request_.end_at(token));
        result_.ids.push_back(token);
        tokens_.push_back(token);
        if (hooks_.ended && hooks_.ended(prompt_, sample_, result_.ids)) return end(End::stop);
        if (static_cast<std::int64_t>(result_.ids.size()) >= room_) end(End::limit);
    }

    GrowingRows& rows_;
    const Draft& draft_;
    const TokenChooser& chooser_;
    const GenerationRequest& request_;
    const GenerationHooks& hooks_;
    Speculation& told_;
    std::size_t prompt_, sample_;
    Ids tokens_;  // all of the row
    std::int64_t room_;
    data::SplitMix64 random_;
    Generated result_;
    bool ended_ = false;
    std::size_t known_to_draft_;  // so many first tokens of the row
    bool drafts_ = false;         // the draft has room for the prompt
};

}  // namespace

std::int64_t drawn_from_rest(const Candidates& p, const Candidates& q, double draw) {
    Candidates rest;
    double sum = 0.0;
    for (const auto& one : p) {
        const double more = one.probability - probability_of(q, one.token);
        if (more <= 0.0) continue;
        rest.push_back({one.token, more});
        sum += more;
    }
    if (rest.empty()) return drawn(p, draw);
    for (auto& one : rest) one.probability /= sum;
    return drawn(rest, draw);
}

GeneratedSamples speculate(GrowingRows& rows, const Draft& draft, const TokenChooser& chooser,
                           const GenerationRequest& request, const GenerationHooks& hooks,
                           GenerationSpeed& speed, Speculation& speculation) {
    GeneratedSamples results(request.prompts.size());
    for (std::size_t prompt = 0; prompt < request.prompts.size(); ++prompt) {
        for (std::size_t sample = 0; sample < static_cast<std::size_t>(request.samples); ++sample) {
            results[prompt].push_back(hooks.stop() ? Generated{{}, End::interrupted, 0.0}
                                                   : SpeculatedRow(rows, draft, chooser, request, hooks,
                                                                   speculation, prompt, sample)
                                                         .run(speed));
        }
    }
    return results;
}

}  // namespace switchyard::infer

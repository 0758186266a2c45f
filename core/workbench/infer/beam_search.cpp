#include "core/workbench/infer/beam_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/workbench/infer/logits/largest.h"
#include "core/workbench/infer/logits/logits_table.h"

namespace switchyard::infer {
namespace {

struct Beam {
    Ids ids;  // new ones
    double score = 0.0;
    std::size_t parent = 0;  // among the beams of the step before
};

// A beam with one more token, on trial.
struct Continuation {
    std::size_t beam;
    std::int64_t token;
    double score;
};

// The search of one prompt.
class BeamGroup {
public:
    BeamGroup(const TokenChooser& chooser, const BeamOptions& options, const GenerationRequest& request,
              const GenerationHooks& hooks, std::size_t prompt)
        : chooser_(chooser),
          options_(options),
          request_(request),
          hooks_(hooks),
          prompt_(prompt),
          room_(request.room(request.prompts[prompt])),
          running_(1) {}

    const std::vector<Beam>& running() const { return running_; }
    std::size_t prompt() const { return prompt_; }
    bool done() const { return done_; }

    // With the logits of its running beams, which begin at row `first`.
    void advance(const LogitsTable& logits, std::size_t first) {
        std::vector<Beam> next;
        std::vector<Generated> ended;
        const auto ranked = continuations(logits, first);
        ++length_;
        for (std::size_t rank = 0; rank < ranked.size(); ++rank) {
            const auto& one = ranked[rank];
            auto ids = running_[one.beam].ids;
            const bool ends = request_.ends_at(one.token);
            if (!ends) ids.push_back(one.token);
            const bool stops = !ends && hooks_.ended && hooks_.ended(prompt_, 0, ids);
            if (!ends && !stops && length_ < room_) {
                if (next.size() < width()) next.push_back({std::move(ids), one.score, one.beam});
            } else if (rank < width()) {
                const auto how = ends ? request_.end_at(one.token) : stops ? End::stop : End::limit;
                ended.push_back({std::move(ids), how, normalized(one.score)});
            }
        }
        keep(std::move(ended));
        running_ = std::move(next);
        done_ = running_.empty() ||
                (full() &&
                 (options_.early_stopping || normalized(running_.front().score) <= finished_.back().score));
    }

    std::vector<Generated> results() const {
        auto best = finished_;
        if (!done_) {  // it was interrupted
            for (const auto& beam : running_)
                if (best.size() < width())
                    best.push_back({beam.ids, End::interrupted, normalized(beam.score)});
        }
        best.resize(std::min(best.size(), static_cast<std::size_t>(request_.samples)));
        return best;
    }

private:
    std::size_t width() const { return static_cast<std::size_t>(options_.beams); }
    bool full() const { return finished_.size() == width(); }
    double normalized(double score) const {
        return score /
               std::pow(static_cast<double>(std::max<std::int64_t>(length_, 1)), options_.length_penalty);
    }

    std::vector<Continuation> continuations(const LogitsTable& logits, std::size_t first) const {
        const auto ends = request_.stop_tokens.size() + (request_.eos >= 0 ? 1 : 0);
        const auto looked_at = std::max<std::size_t>(2, 1 + ends) * width();
        std::vector<Continuation> all;
        const auto& before = request_.prompts[prompt_].grown;
        for (std::size_t i = 0; i < running_.size(); ++i) {
            auto tokens = before;
            tokens.insert(tokens.end(), running_[i].ids.begin(), running_[i].ids.end());
            const auto scores = chooser_.log_probabilities(logits[first + i], tokens);
            for (const auto token : largest(scores, looked_at))
                all.push_back(
                    {i, token,
                     running_[i].score + static_cast<double>(scores[static_cast<std::size_t>(token)])});
        }
        std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.score > b.score; });
        all.resize(std::min(all.size(), looked_at));
        return all;
    }

    void keep(std::vector<Generated> ended) {
        for (auto& one : ended) finished_.push_back(std::move(one));
        std::ranges::stable_sort(finished_, [](const auto& a, const auto& b) { return a.score > b.score; });
        finished_.resize(std::min(finished_.size(), width()));
    }

    const TokenChooser& chooser_;
    const BeamOptions& options_;
    const GenerationRequest& request_;
    const GenerationHooks& hooks_;
    std::size_t prompt_;
    std::int64_t room_;
    std::int64_t length_ = 0;  // tokens of each running beam
    std::vector<Beam> running_;
    std::vector<Generated> finished_;  // best first
    bool done_ = false;
};

// The beams of those that go on follow one another in the model; each is now what its parent was.
void extend(GrowingRows& rows, const std::vector<BeamGroup*>& all, std::vector<BeamGroup*>& live,
            const std::vector<std::size_t>& first_rows, LogitsTable& logits) {
    std::vector<std::int64_t> parents;
    std::vector<Ids> tokens;
    live.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i]->done()) continue;
        live.push_back(all[i]);
        for (const auto& beam : all[i]->running()) {
            parents.push_back(static_cast<std::int64_t>(first_rows[i] + beam.parent));
            tokens.push_back({beam.ids.back()});
        }
    }
    if (live.empty()) return;
    rows.select(parents);
    logits = LogitsTable(rows.append(tokens));
}

void advance_all(const std::vector<BeamGroup*>& live, const LogitsTable& logits,
                 std::vector<std::size_t>& first_rows) {
    first_rows.clear();
    std::size_t row = 0;
    for (auto* search : live) {
        first_rows.push_back(row);
        const auto beams = search->running().size();
        search->advance(logits, row);
        row += beams;
    }
}

void search_batch(GrowingRows& rows, std::vector<BeamGroup>& searches, const GenerationRequest& request,
                  const GenerationHooks& hooks, GenerationSpeed& speed) {
    GenerationClock clock(speed);
    std::vector<Beginning> prompts;
    std::int64_t read = 0;
    std::vector<BeamGroup*> live;
    for (auto& search : searches) {
        prompts.push_back(request.prompts[search.prompt()]);
        read += static_cast<std::int64_t>(prompts.back().source.size() + prompts.back().grown.size());
        live.push_back(&search);
    }
    LogitsTable logits(rows.begin(prompts));
    std::vector<std::size_t> first_rows;
    advance_all(live, logits, first_rows);
    clock.prefilled(read);
    while (!hooks.stop()) {
        const auto all = live;
        extend(rows, all, live, first_rows, logits);
        if (live.empty()) return;
        advance_all(live, logits, first_rows);
        clock.decoded(static_cast<std::int64_t>(live.size()));
    }
}

}  // namespace

GeneratedSamples beam_search(GrowingRows& rows, const TokenChooser& chooser, const BeamOptions& options,
                             const GenerationRequest& request, const GenerationHooks& hooks,
                             GenerationSpeed& speed) {
    GeneratedSamples results(request.prompts.size());
    const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(request.batch / options.beams, 1));
    for (std::size_t first = 0; first < request.prompts.size() && !hooks.stop(); first += at_once) {
        std::vector<BeamGroup> searches;
        for (auto i = first; i < std::min(first + at_once, request.prompts.size()); ++i)
            searches.emplace_back(chooser, options, request, hooks, i);
        search_batch(rows, searches, request, hooks, speed);
        for (const auto& search : searches) results[search.prompt()] = search.results();
    }
    return results;
}

}  // namespace switchyard::infer

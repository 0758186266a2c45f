#include "core/kernel/resolver/measured.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/kernel/resolver/plan_json.h"

namespace switchyard::resolver {
namespace {

std::string ms_text(double ms) {
    char text[32];
    std::snprintf(text, sizeof text, "%.3g ms", ms);
    return text;
}

std::string short_name_of(const Candidate& candidate) {
    return candidate.plugin == candidate.manifest.id ? candidate.plugin : candidate.full_name();
}

const MeasuredCandidate* find_candidate(const Measurement& measurement, const MeasuredCandidate& wanted) {
    const auto found = std::find_if(measurement.candidates.begin(), measurement.candidates.end(),
                                    [&](const MeasuredCandidate& each) {
                                        return each.name == wanted.name && each.library == wanted.library &&
                                               each.options == wanted.options;
                                    });
    return found == measurement.candidates.end() ? nullptr : &*found;
}

// The candidates of a use beside their times, which all have been found.
class Race {
public:
    Race(const SlotUse& use, const std::vector<const Candidate*>& conformant, const Measurement& measurement)
        : conformant_(conformant), measurement_(measurement) {
        for (const auto* candidate : conformant)
            times_.push_back(find_candidate(measurement, identity(*candidate, use.config)));
        for (std::size_t i = 0; i < times_.size(); ++i) {
            if (times_[i]->timed()) timed_.push_back(i);
        }
        std::stable_sort(timed_.begin(), timed_.end(),
                         [&](std::size_t a, std::size_t b) { return times_[a]->ms < times_[b]->ms; });
    }

    bool all_failed() const { return timed_.empty(); }

    Choice choose(const SlotUse& use, double noise) const {
        std::vector<std::size_t> near;
        std::vector<const Candidate*> candidates;
        for (const auto i : timed_) {
            if (!is_near(i, noise) && i != timed_.front()) continue;
            near.push_back(i);
            candidates.push_back(conformant_[i]);
        }
        Choice choice;
        choice.index = near[by_priority(use, candidates).index];
        choice.how = "auto: measured " + how(choice.index, noise) +
                     (measurement_.sample.empty() ? "" : ", on " + measurement_.sample) + ", " +
                     measurement_.date;
        for (std::size_t i = 0; i < times_.size(); ++i) choice.why_not.push_back(why_not(i, choice.index));
        choice.measured = measurement_;
        return choice;
    }

private:
    // Within the noise of the fastest, or not surely slower: their intervals overlap.
    bool is_near(std::size_t i, double noise) const {
        const auto& fastest = *times_[timed_.front()];
        return times_[i]->ms * (1.0 - noise) < fastest.ms || times_[i]->low <= fastest.high;
    }

    std::string time_of(std::size_t i) const {
        return short_name_of(*conformant_[i]) + " " + ms_text(times_[i]->ms);
    }

    std::string how(std::size_t chosen, double noise) const {
        const auto own = ms_text(times_[chosen]->ms);
        const auto of = " of " + std::to_string(conformant_.size());
        if (chosen != timed_.front()) {
            char share[16];
            std::snprintf(share, sizeof share, "%g %%", 100.0 * noise);
            const bool close = times_[chosen]->ms * (1.0 - noise) < times_[timed_.front()]->ms;
            return own + (close ? ", within " + std::string(share) + " of " : ", not surely slower than ") +
                   time_of(timed_.front()) + ": by priority";
        }
        const auto against = timed_.size() > 1 ? " against " + time_of(timed_[1]) : "";
        return own + against + " (fastest" + of + ")";
    }

    std::string why_not(std::size_t i, std::size_t chosen) const {
        if (i == chosen) return "";
        if (!times_[i]->timed()) return "out when it was measured: " + times_[i]->failure;
        return "measured " + ms_text(times_[i]->ms) + ", chosen: " + ms_text(times_[chosen]->ms);
    }

    const std::vector<const Candidate*>& conformant_;
    const Measurement& measurement_;
    std::vector<const MeasuredCandidate*> times_;  // by conformant
    std::vector<std::size_t> timed_;               // fastest first
};

}  // namespace

MeasuredCandidate identity(const Candidate& candidate, const config::SlotConfig& config) {
    MeasuredCandidate made;
    made.name = candidate.full_name();
    made.library = candidate.content_hash;
    made.options = to_json(options_for(candidate, config)).dump();
    return made;
}

std::string subject(const std::string& shape_class, const std::vector<MeasuredCandidate>& candidates) {
    std::vector<std::string> list;
    for (const auto& candidate : candidates) list.push_back("\n" + candidate.name + " " + candidate.options);
    std::sort(list.begin(), list.end());
    std::string text = shape_class;
    for (const auto& one : list) text += one;
    return text;
}

void take_up(std::vector<Measurement>& list, Measurement measurement) {
    const auto wanted = subject(measurement.shape_class, measurement.candidates);
    std::erase_if(list, [&](const Measurement& each) {
        return each.host == measurement.host && subject(each.shape_class, each.candidates) == wanted;
    });
    list.push_back(std::move(measurement));
}

bool covers(const Measurement& measurement, const SlotUse& use,
            const std::vector<const Candidate*>& conformant) {
    return std::all_of(conformant.begin(), conformant.end(), [&](const Candidate* candidate) {
        return find_candidate(measurement, identity(*candidate, use.config)) != nullptr;
    });
}

const Measurement* MeasuredChoice::find(const SlotUse& use,
                                        const std::vector<const Candidate*>& conformant) const {
    const auto wanted = shape_class(use.kind, *use.request);
    const auto nearer = [](const Measurement& one, const Measurement& other) {
        if (one.candidates.size() != other.candidates.size())
            return one.candidates.size() < other.candidates.size();
        return one.date > other.date;
    };
    const Measurement* found = nullptr;
    for (const auto& each : measurements) {
        if (each.shape_class != wanted || each.host != host || !covers(each, use, conformant)) continue;
        if (found == nullptr || nearer(each, *found)) found = &each;
    }
    return found;
}

Choice MeasuredChoice::operator()(const SlotUse& use, const std::vector<const Candidate*>& conformant) const {
    if (conformant.size() == 1) return {0, "auto: the only one that serves it", {}, {}};
    auto why = not_measured_because(use.kind, *use.request);
    if (why.empty()) why = unmeasured;
    const auto* const measurement = find(use, conformant);
    if (measurement == nullptr) return by_rank_because(why)(use, conformant);
    const Race race(use, conformant, *measurement);
    if (race.all_failed()) {
        auto choice = by_rank_because("each failed when it was measured")(use, conformant);
        choice.measured = *measurement;
        return choice;
    }
    return race.choose(use, noise);
}

Chooser by_rank_because(std::string why) {
    return [why = std::move(why)](const SlotUse& use, const std::vector<const Candidate*>& conformant) {
        auto choice = by_priority(use, conformant);
        choice.how += " (" + why + ")";
        return choice;
    };
}

}  // namespace switchyard::resolver

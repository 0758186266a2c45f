#include "core/workbench/profile/advice.h"

#include <algorithm>
#include <functional>
#include <map>

#include "core/kernel/base/number_text.h"

namespace switchyard::profile {
namespace {

constexpr double least_saving = 0.01;

const Line* line_of(const std::vector<Line>& lines, const std::string& name) {
    const auto found = std::ranges::find(lines, name, &Line::name);
    return found == lines.end() ? nullptr : &*found;
}

double slot_share(const Profile& profile, const std::string& slot) {
    const auto* const line = line_of(profile.slots, slot);
    return line == nullptr || profile.step_ms <= 0.0 ? 0.0 : line->ms / profile.step_ms;
}

std::string hundredths(double share) { return base::digits(100.0 * share, 2) + " %"; }

const TimedComponent* component_of(const TimedUse& use, const std::string& name) {
    const auto found = std::ranges::find(use.components, name, &TimedComponent::name);
    return found == use.components.end() || !(found->ms > 0.0) ? nullptr : &*found;
}

// What a use takes with one component, of what it takes with the other. As fast where noise may be what makes
// it faster, as where `auto` chooses (core/kernel/resolver/measured.h).
double ratio_of(const TimedComponent& other, const TimedComponent& now) {
    constexpr double noise = 0.03;
    const double ratio = other.ms / now.ms;
    return ratio < 1.0 && (ratio > 1.0 - noise || other.high >= now.low) ? 1.0 : ratio;
}

struct Saving {
    double ms = 0.0;         // of a step
    double before = 0.0;     // the time of the uses that it serves
    bool everywhere = true;  // it serves all uses of the kind
    std::string chosen;
};

// Of each kind the component that saves most, alone in its slot, or first in a list before what is there.
void add_components(std::vector<Advice>& all, const Profile& profile, const std::vector<TimedUse>& timed) {
    std::map<std::string, std::map<std::string, Saving>> by_kind;
    for (const auto& use : timed) {
        for (const auto& component : use.components) by_kind[use.kind][component.name];
    }
    for (auto& [kind, components] : by_kind) {
        const std::string* best = nullptr;
        for (auto& [component, saving] : components) {
            for (const auto& use : timed) {
                if (use.kind != kind) continue;
                const auto* const line = line_of(profile.uses, use.use);
                const auto *const other = component_of(use, component), *const now =
                                                                            component_of(use, use.chosen);
                if (other == nullptr || now == nullptr) {
                    saving.everywhere = false;
                    continue;
                }
                if (component == use.chosen || line == nullptr) continue;
                saving.chosen = use.chosen;
                saving.before += line->ms;
                saving.ms += line->ms * (1.0 - ratio_of(*other, *now));
            }
            if (saving.ms > 0.0 && (best == nullptr || saving.ms > components[*best].ms)) best = &component;
        }
        if (best == nullptr) continue;
        const auto& saving = components[*best];
        const auto faster = saving.before / (saving.before - saving.ms);
        const auto value =
            saving.everywhere ? "\"" + *best + "\"" : "[\"" + *best + "\", \"" + saving.chosen + "\"]";
        all.push_back({kind + ".backend = " + value, saving.ms / profile.step_ms,
                       "timed beside " + saving.chosen + " on the plan's requests it is " +
                           base::digits(faster) + " times as fast, and these take " +
                           hundredths(saving.before / profile.step_ms) + " of a step",
                       true});
    }
}

// Each component of the plan, in one precision and in the other.
void add_precision(std::vector<Advice>& all, const Profile& profile, const JobFacts& facts) {
    if (facts.narrow_precision.empty()) return;
    double before = 0.0, after = 0.0;
    for (const auto& narrow : facts.narrow) {
        const auto wide = std::ranges::find(facts.timed, narrow.use, &TimedUse::use);
        const auto* const line = line_of(profile.uses, narrow.use);
        if (wide == facts.timed.end() || line == nullptr) continue;
        const auto* const now = component_of(*wide, wide->chosen);
        const auto* const then = component_of(narrow, wide->chosen);
        if (now == nullptr || then == nullptr) continue;
        before += line->ms;
        after += line->ms * ratio_of(*then, *now);
    }
    if (after <= 0.0) return;
    all.push_back({facts.narrow_precision, (before - after) / profile.step_ms,
                   "the components that take " + hundredths(before / profile.step_ms) + " of a step are " +
                       base::digits(before / after) +
                       " times as fast with it, timed on the plan's requests; "
                       "gradients and values become coarser",
                   true});
}

void add_keys(std::vector<Advice>& all, const Profile& profile, const JobFacts& facts) {
    const double step = profile.step_ms;
    if (!facts.packed_layout.empty() && profile.padding > 0.0) {
        double of_tokens = 0.0;
        for (const auto& line : profile.slots) {
            if (line.name != "optimizer" && line.name != "data_loader" && line.name != "precision_clipping")
                of_tokens += line.ms;
        }
        all.push_back({facts.packed_layout, profile.padding * of_tokens / step,
                       hundredths(profile.padding) +
                           " of the places in a batch are padding, and slots that "
                           "compute on them take " +
                           hundredths(of_tokens / step) + " of a step"});
    }
    if (!facts.recompute.empty()) {
        double again = 0.0;
        for (const auto& line : profile.slots) again += line.again_ms;
        all.push_back({"train.recompute = \"none\"", again / step,
                       "what runs a second time (" + facts.recompute +
                           ") takes that much; activations take "
                           "more memory without"});
    }
    if (const double data = slot_share(profile, "data_loader"); !facts.workers.empty())
        all.push_back({facts.workers, data, "the step waits for its batches for that long"});
    // What a step takes whatever its batch: half as much a sample with a batch twice as large.
    const double between = profile.between_ms();
    const double fixed =
        slot_share(profile, "optimizer") + slot_share(profile, "precision_clipping") + between / step;
    if (facts.batch_size > 0)
        all.push_back({"batch.size = " + std::to_string(2 * facts.batch_size), fixed / 2.0,
                       "the optimizer, clipping and what is between operators take " + hundredths(fixed) +
                           " of a step whatever its batch: half of it a sample; activations take twice the "
                           "memory, and what is learnt changes"});
}

}  // namespace

std::vector<Advice> advise(const Profile& profile, const JobFacts& facts, std::size_t most) {
    std::vector<Advice> all;
    if (profile.step_ms <= 0.0) return all;
    add_components(all, profile, facts.timed);
    add_precision(all, profile, facts);
    add_keys(all, profile, facts);
    std::erase_if(all, [](const Advice& one) { return !(one.saves >= least_saving); });
    std::ranges::stable_sort(all, std::greater<>(), &Advice::saves);
    if (all.size() > most) all.resize(most);
    return all;
}

}  // namespace switchyard::profile

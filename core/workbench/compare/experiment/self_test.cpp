#include "core/workbench/compare/experiment/self_test.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/kernel/base/number_text.h"
#include "core/workbench/bench/measure/statistics.h"
#include "core/workbench/bench/measure/text_table.h"
#include "core/workbench/compare/experiment/judge_arms.h"

namespace switchyard::compare {
namespace {

using bench::PhiloxStream;
using bench::SimulatedBlocks;

// As if it had been measured.
PairResult judged(const SimulatedBlocks& blocks) {
    Comparison comparison;
    comparison.arms.resize(2);
    comparison.steps_per_block = 1;
    for (std::size_t at = 0; at < 2; ++at) {
        const auto& times = at == 0 ? blocks.base_ms : blocks.arm_ms;
        for (std::size_t block = 0; block < times.size(); ++block) {
            ArmBlock made;
            made.sample.ms = times[block];
            made.steps = made.samples = 1;
            made.round = blocks.round_of[block];
            comparison.arms[at].blocks.emplace_back(made);
        }
        mark_outlier_blocks(comparison.arms[at]);
    }
    judge_pairs(comparison, bench::same_margin);
    return comparison.pairs.front();
}

void count(VerdictShares& shares, bench::SpeedVerdict verdict, double one) {
    switch (verdict) {
        case bench::SpeedVerdict::faster:
            shares.faster += one;
            break;
        case bench::SpeedVerdict::slower:
            shares.slower += one;
            break;
        case bench::SpeedVerdict::same:
            shares.same += one;
            break;
        default:
            shares.cannot_tell += one;
    }
}

// Where every arm of every comparison counts once.
class Tally {
public:
    Tally(std::string name, std::size_t comparisons) : one_(1.0 / static_cast<double>(comparisons)) {
        row_.name = std::move(name);
    }

    void add(const PairResult& itself, const PairResult& slowed) {
        count(row_.against_itself, itself.verdict, one_);
        row_.missed += itself.p < 0.05 ? one_ : 0.0;
        if (std::isfinite(itself.speedup.low))
            widths_.push_back(0.5 * std::log(itself.speedup.high / itself.speedup.low));
        count(row_.slowed, slowed.verdict, one_);
    }
    SelfTestRow row() {
        row_.half_width = bench::median(widths_);
        return std::move(row_);
    }

private:
    SelfTestRow row_{};
    double one_;
    std::vector<double> widths_;
};

// `draw`: a comparison in which the arm takes so many times as long.
SelfTestRow replayed(const std::string& name, const SelfTestSettings& settings,
                     const std::function<SimulatedBlocks(double factor)>& draw) {
    Tally tally(name, static_cast<std::size_t>(settings.replays));
    for (int replay = 0; replay < settings.replays; ++replay) {
        const auto itself = judged(draw(1.0));
        tally.add(itself, judged(draw(1.0 + settings.slow_down)));
    }
    return tally.row();
}

// What one round of a pair varied by: logarithms of the ratios of its blocks, around that of all.
using Deviations = std::vector<std::vector<double>>;

Deviations deviations_of(const Comparison& recorded, std::size_t base, std::size_t arm) {
    Deviations rounds;
    std::vector<double> medians;
    const auto &bases = recorded.arms[base].blocks, &arms = recorded.arms[arm].blocks;
    int round = -1;
    for (std::size_t block = 0; block < std::min(bases.size(), arms.size()); ++block) {
        if (!bases[block] || !arms[block] || bases[block]->repeated) continue;
        if (bases[block]->round != round) round = bases[block]->round, rounds.emplace_back();
        rounds.back().push_back(std::log(arms[block]->sample_ms() / bases[block]->sample_ms()));
    }
    for (const auto& one : rounds) medians.push_back(bench::median(one));
    double centre = 0.0;
    for (const double one : medians) centre += one / static_cast<double>(medians.size());
    for (auto& one : rounds) {
        for (double& value : one) value -= centre;
    }
    return rounds;
}

std::size_t blocks_in(const Deviations& rounds) {
    std::size_t count = 0;
    for (const auto& round : rounds) count += round.size();
    return count;
}

// One round's blocks, as runs that follow each other in a circle (Politis & Romano 1992).
std::vector<double> drawn_runs(const std::vector<double>& round, PhiloxStream& random) {
    const std::size_t run = std::max<std::size_t>(1, round.size() / 4);
    std::vector<double> drawn;
    while (drawn.size() < round.size()) {
        const auto from = random.below(static_cast<std::uint32_t>(round.size()));
        const double sign = random.below(2) == 0 ? 1.0 : -1.0;
        for (std::size_t i = 0; i < run && drawn.size() < round.size(); ++i)
            drawn.push_back(sign * round[(from + i) % round.size()]);
    }
    return drawn;
}

SimulatedBlocks drawn(const Deviations& recorded, double factor, PhiloxStream& random) {
    SimulatedBlocks blocks;
    for (std::size_t round = 0; round < recorded.size(); ++round) {
        const auto& from = recorded[random.below(static_cast<std::uint32_t>(recorded.size()))];
        const double sign = random.below(2) == 0 ? 1.0 : -1.0;
        for (const double value : recorded.size() == 1 ? drawn_runs(from, random) : from) {
            blocks.round_of.push_back(static_cast<int>(round));
            blocks.base_ms.push_back(100.0);
            blocks.arm_ms.push_back(100.0 * factor * std::exp(sign * value));
        }
    }
    return blocks;
}

bool says_too_much(const SelfTestRow& row, int replays) {
    return row.against_itself.faster + row.against_itself.slower > allowed_share(replays);
}

bool finds(const SelfTestRow& row, int replays) {
    return !row.must_find || row.slowed.slower >= 1.0 - allowed_share(replays);
}

std::string told_share(double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f %%", 100.0 * share);
    return text;
}

}  // namespace

double allowed_share(int replays) { return 0.05 + 3.0 * std::sqrt(0.05 * 0.95 / replays); }

bool holds(const SelfTestRow& row, int replays) {
    return !says_too_much(row, replays) && finds(row, replays);
}

std::vector<SelfTestRow> test_on_simulated(const SelfTestSettings& settings) {
    std::vector<SelfTestRow> rows;
    std::uint32_t stream = 0;
    for (const double correlation : {0.0, 0.3, 0.5, 0.7}) {
        for (const double starts : {0.0, 0.005, 0.01}) {
            PhiloxStream random(settings.seed, ++stream);
            std::string name = "correlated by " + base::digits(correlation, 1) + ", starts differ by " +
                               base::digits(100.0 * starts, 2) + " %";
            rows.push_back(replayed(name, settings, [&](double factor) {
                return bench::simulate_blocks({settings.noise, correlation, starts},
                                              {settings.rounds, settings.blocks, factor}, random);
            }));
            rows.back().must_find = correlation == 0.0 || starts == 0.0;
        }
    }
    return rows;
}

std::optional<SelfTestRow> test_on_recorded(const Comparison& recorded, const SelfTestSettings& settings) {
    std::vector<Deviations> pairs;
    const auto base = base_index(recorded);
    for (std::size_t arm = base + 1; arm < recorded.arms.size(); ++arm) {
        auto rounds = deviations_of(recorded, base, arm);
        if (blocks_in(rounds) >= std::size_t{least_blocks}) pairs.push_back(std::move(rounds));
    }
    if (pairs.empty()) return std::nullopt;
    PhiloxStream random(settings.seed, 0);
    return replayed("recorded", settings, [&](double factor) {
        return drawn(pairs[random.below(static_cast<std::uint32_t>(pairs.size()))], factor, random);
    });
}

SelfTestRow test_on_live(std::vector<Comparison> made) {
    Tally tally("made on this machine", made.size());
    const PairResult none;
    for (auto& comparison : made) {
        judge_pairs(comparison, bench::same_margin);
        const auto *const itself = comparison.pair_with(1), *const slowed = comparison.pair_with(2);
        tally.add(itself != nullptr ? *itself : none, slowed != nullptr ? *slowed : none);
    }
    return tally.row();
}

std::string to_text(const std::vector<SelfTestRow>& rows, const SelfTestSettings& settings) {
    using Align = bench::TextTable::Align;
    bench::TextTable table({{"an arm against itself", Align::left},
                            {"FASTER"},
                            {"SLOWER"},
                            {"SAME"},
                            {"CANNOT TELL"},
                            {"p < 0.05"},
                            {"interval"}});
    bench::TextTable found(
        {{"against itself, slowed by " + base::digits(100.0 * settings.slow_down, 2) + " %", Align::left},
         {"FASTER"},
         {"SLOWER"},
         {"SAME"},
         {"CANNOT TELL"}});
    for (const auto& row : rows) {
        const auto cells = [&](const VerdictShares& shares) {
            return std::vector<std::string>{row.name, told_share(shares.faster), told_share(shares.slower),
                                            told_share(shares.same), told_share(shares.cannot_tell)};
        };
        auto first = cells(row.against_itself);
        first.push_back(told_share(row.missed));
        first.push_back("+-" + told_share(row.half_width));
        table.row(first);
        if (says_too_much(row, settings.replays)) table.note("MORE than 5 % FASTER and SLOWER");
        found.row(cells(row.slowed));
        if (!finds(row, settings.replays)) found.note("FEWER than 95 % found");
    }
    return table.render("  ", 110) + "\n" + found.render("  ", 110);
}

}  // namespace switchyard::compare

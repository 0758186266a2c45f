// Whether the statistics of a comparison hold what they promise: comparisons whose answer is known are
// replayed, and their verdicts counted. The functions are those that judge real ones (judge_arms.h).
//
// No LibTorch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/bench/measure/simulated_blocks.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// Shares of verdicts over all replays.
struct VerdictShares {
    double faster = 0.0, slower = 0.0, same = 0.0, cannot_tell = 0.0;
};

struct SelfTestRow {
    std::string name;  // "recorded", "correlated by 0.7, starts differ by 1 %"
    VerdictShares against_itself;
    VerdictShares slowed;     // the arm takes longer by SelfTestSettings::slow_down
    double missed = 0.0;      // share of intervals of an arm against itself that do not hold 1
    double half_width = 0.0;  // of the interval of the ratio, median over the replays against itself
    bool must_find = true;    // 95 % of the slowed arms, whose share is else only told
};

struct SelfTestSettings {
    int replays = 1000;
    double slow_down = 0.03;
    std::uint64_t seed = 0;
    int rounds = 8;       // of simulated comparisons
    int blocks = 6;       // of each round
    double noise = 0.01;  // of a block, simulated
};

// A share of at most this of an arm against itself may be FASTER or SLOWER: 5 %, and three standard errors of
// a share that so many replays find.
double allowed_share(int replays);

// Whether so many replays bear out what is promised: FASTER and SLOWER of an arm against itself are seldom,
// and a slowed arm is found, in 95 % or three standard errors fewer.
bool holds(const SelfTestRow& row, int replays);

// Simulated noise of every kind that docs/compare.md promises for. That a slow-down is found is promised
// where blocks are independent or starts equal.
std::vector<SelfTestRow> test_on_simulated(const SelfTestSettings& settings);

// Blocks that were recorded. What its pairs differ by is taken out; what is left - the ratios of the blocks
// around that of all - is replayed: rounds are drawn with repetition, in each of which base and arm may have
// changed places. A recording of one round is drawn in runs of a quarter of its blocks that follow each
// other. Nothing where no pair of the recording has six blocks.
std::optional<SelfTestRow> test_on_recorded(const Comparison& recorded, const SelfTestSettings& settings);

// Of comparisons that were made, not replayed: in each the second arm is the first one again, and the third
// one is it slowed.
SelfTestRow test_on_live(std::vector<Comparison> made);

std::string to_text(const std::vector<SelfTestRow>& rows, const SelfTestSettings& settings);

}  // namespace switchyard::compare

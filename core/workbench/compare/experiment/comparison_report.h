// A comparison as text for people, and for programs: as JSON (docs/schema/compare.json), its arms as CSV, its
// blocks as lines of JSON (docs/schema/compare_block.json).
//
// No LibTorch here.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/kernel/base/executed_text.h"
#include "core/workbench/compare/experiment/alike.h"
#include "core/workbench/compare/experiment/comparison.h"

namespace switchyard::compare {

// Lines of at most 100 columns where names allow it.
std::string to_text(const Comparison& comparison);
nlohmann::ordered_json to_json(const Comparison& comparison);
// A row for each arm, numbers in full (core/workbench/report/csv_text.h).
std::string to_csv(const Comparison& comparison);
// An object for each block that was measured, arm by arm; those that were repeated too.
std::vector<nlohmann::ordered_json> block_lines(const Comparison& comparison);

// Whose calls are told: those in training, where something was trained.
base::Called called(const Comparison& comparison);

// What arms found on held-out samples, as a part of the text; "" where nobody was asked.
std::string evaluation_text(const Comparison& comparison);
// Of what evaluations are, and how far accuracies differ by chance; "": there are none.
std::string evaluation_note(const Comparison& comparison);
// Why arms that ran evaluated nothing, each reason with the names of its arms.
std::vector<Alike> reasons_without_evaluation(const Comparison& comparison);

// How others disturbed what was timed: "2 blocks repeated, for others had the processor; others took up to
// 23 % of the processors in blocks that count". `most`: the largest share of a block that counts. Empty:
// they did not.
std::string disturbed_text(int repeated_blocks, double most);

// What is told beside an arm whose own times were not taken (by_coordinator).
inline constexpr const char* timed_from_outside =
    "timed from outside: the times it reports leave out much of its turns";

// "3.52 s" from the start of its process to the end of its first steady step; "-": not known.
std::string start_up_text(const ArmResult& arm);

// "torch is FASTER than naive: 1.85 [1.82, 1.88] times as fast".
std::string sentence(const Comparison& comparison, const PairResult& pair);

}  // namespace switchyard::compare

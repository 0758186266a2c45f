// Answers of a seq2seq model to texts whose right answers are known, and how good they are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/data/pair_samples.h"
#include "core/workbench/score/metrics.h"
#include "core/workbench/train/session.h"

namespace switchyard::cli {

// Why the model cannot answer each of these texts; empty: it can.
std::string answers_problem(const train::Session& session, const std::vector<data::TextPair>& pairs);

// BLEU and chrF with the numbers of sacreBLEU's defaults, of answers with the likeliest token each time. As
// the weights are now. On all ranks that share a training, with the first rank's scores on each; these do not
// stop in between. nullopt: stopped.
std::optional<score::Metrics> score_answers(
    train::Session& session, const std::vector<data::TextPair>& pairs,
    const std::function<void(std::int64_t done, std::int64_t total)>& progress,
    const std::function<bool()>& stop);

// The first train.eval_answers pairs of texts that a training evaluates on; without those that are too long
// for the model, of which `note` then says how many. Throws Failure where it could answer none.
std::vector<data::TextPair> pairs_to_answer(const train::Session& session, std::string& note);

}  // namespace switchyard::cli

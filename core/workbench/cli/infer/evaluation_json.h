// What an evaluation says, and what became of the rows that it read, as summary.json and `switchyard
// evaluate` have it (docs/schema/summary.json).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/data/splits.h"
#include "core/workbench/data/tokenizers/tokenizer.h"
#include "core/workbench/train/evaluate.h"

namespace switchyard::cli {

// `samples`: those that were evaluated, for the texts of the worst of them.
nlohmann::ordered_json evaluation_json(const train::EvalResult& result, const SampleSource& samples,
                                       const data::Tokenizer& tokenizer);

nlohmann::ordered_json rows_json(const data::RowCounts& rows);

}  // namespace switchyard::cli

// summary.json of a run; its keys are a contract (docs/schema/summary.json).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/workbench/train/session.h"
#include "core/workbench/train/trainer.h"
#include "core/workbench/train/utilization.h"

namespace switchyard::cli {

// Bytes at the end of training.
struct TrainingMemory {
    std::int64_t peak = 0;
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
    std::int64_t masters = 0;  // float32 copies of parameters of lower precision
};

// Of the parameters, their masters and the optimizer's state, and the allocator's peak. `trainer`: of a rank
// with a part of them, what this rank keeps.
TrainingMemory training_memory(train::Session& session, const train::Trainer& trainer);

nlohmann::ordered_json train_summary(const train::Session& session, const train::TrainingResult& result,
                                     const TrainingMemory& memory, const train::Utilization& utilization,
                                     double wall_seconds);

// skipped.jsonl: a line of JSON for each row that was skipped for what is wrong with it, and at the end how
// many are not listed; empty: none was.
std::string skipped_rows_text(const data::Splits& splits);

}  // namespace switchyard::cli

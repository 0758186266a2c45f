// Batches as a file that external arms load: safetensors, tensors named "STEP.MICRO.NAME", both numbers from
// 0.
//
//     ids             int64 [samples, seq]   padded places hold 0 and are not attended to
//     attention_mask  int64 [samples, seq]   1: a real token
//     token_type_ids  int64 [samples, seq]   only where the model has them
//     labels          int64 [samples], or [samples, seq]: -100 where there is no label
//     float_labels    float32 [samples, labels of a sample], of tasks that have no labels: NaN: none
//     target_ids, target_attention_mask      of sequence-to-sequence models; labels then have their shape
//
// Packed batches are written padded, a row for each sequence: the form that every library knows.
#pragma once

#include <string>
#include <vector>

#include <switchyard/interfaces/batch.h>
#include "core/kernel/base/atomic_file.h"
#include "core/workbench/compare/arms/step_counts.h"

namespace switchyard::compare {

// `steps`: the batches of each step.
base::FileError write_shared_batches(const std::string& path, const std::vector<std::vector<Batch>>& steps);

// What such a file holds, step by step; nothing where it cannot be read.
std::vector<StepCounts> read_step_counts(const std::string& path);

}  // namespace switchyard::compare

// Checkpoints: folders `step-00000120` with model.safetensors, optimizer.safetensors (with float32 masters
// where parameters are of lower precision), state.json, with train.ema average.safetensors, and
// checksums.xxh128, which holds the other files' checksums (XXH3 of 128 bits) in the format that
// `xxh128sum --check` reads.
//
// Atomic: a folder is written aside, every file and the folder synced, then renamed; a crash, a kill or a
// full disk at any moment leaves the previous checkpoints as they were and at most a folder `.writing-*`,
// which the next save or resumption removes. Nothing in them is code: no pickle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

inline constexpr const char* weights_file = "model.safetensors";
inline constexpr const char* average_file = "average.safetensors";  // all weights, trained ones averaged

// Saves below `folder` (made if need be) and removes old checkpoints (checkpoint_folder.h). One of this state
// that is there stays as it is; one of the same step that the run has gone back to since is replaced. The
// error names file and reason.
base::FileError save_checkpoint(const std::string& folder, const TrainingState& state,
                                const model::Parameters& parameters, std::int64_t keep);

struct LoadedCheckpoint {
    std::optional<TrainingState> state;
    std::string error;  // names the file and what does not fit; then no parameter was changed
};

// Compares every file with its checksum, reads the state and sets the parameters. `plan`: see
// TrainingState::plan; another one is an error that shows the differing lines, unless the precision policy is
// all that differs: then parameters and their float32 masters come from what the checkpoint has in float32.
LoadedCheckpoint load_checkpoint(const std::string& path, const std::string& plan,
                                 model::Parameters& parameters);

}  // namespace switchyard::train

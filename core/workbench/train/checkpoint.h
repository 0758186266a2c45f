// Checkpoints: folders `step-00000120` with model.safetensors, optimizer.safetensors (with float32 masters
// where parameters are of lower precision), state.json, with train.ema average.safetensors, and
// checksums.xxh128, which holds the other files' checksums (XXH3 of 128 bits) in the format that
// `xxh128sum --check` reads. Where ranks write one together (save_together.h), each has files of its own,
// model-00001-of-00002.safetensors and so on, with the index that Hugging Face gives such files.
//
// Atomic: a folder is written aside, every file and the folder synced, then renamed; a crash, a kill or a
// full disk at any moment leaves the previous checkpoints as they were and at most a folder `.writing-*`,
// which the next save or resumption removes. Nothing in them is code: no pickle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/kernel/base/atomic_file.h"
#include "core/workbench/train/checkpoint_part.h"
#include "core/workbench/train/training_state.h"

namespace switchyard::train {

inline constexpr const char* weights_file = "model.safetensors";  // of a model as it is exported

// The weights of a checkpoint, averaged ones where it has them.
struct CheckpointWeights {
    std::string path;   // the file, or the index of several
    std::string fault;  // what is damaged of it; empty: nothing
};
CheckpointWeights weights_of(const std::string& checkpoint);

// Saves below `folder` (made if need be) and removes old checkpoints (checkpoint_folder.h). One of this state
// that is there stays as it is; one of the same step that the run has gone back to since is replaced. The
// error names file and reason.
base::FileError save_checkpoint(const std::string& folder, const TrainingState& state,
                                const model::Parameters& parameters, std::int64_t keep);

// The same step by step: where one is to be written, by one process; its files, by each that has a part of
// it; and what makes it a checkpoint, by the first again.
struct CheckpointBegin {
    std::string aside;  // the folder to write into; empty: one of this state is there
    base::FileError error;
};
CheckpointBegin begin_checkpoint(const std::string& folder, const Progression& progression);
// Gives what the first one needs to know of them: text.
struct WrittenPart {
    std::string word;
    base::FileError error;
};
WrittenPart write_part(const std::string& aside, const CheckpointPart& part, const TrainingState& state,
                       const model::Parameters& parameters);
// `words`: of all parts in their order. After an error nothing is left of it.
base::FileError finish_checkpoint(const std::string& folder, const std::string& aside,
                                  const TrainingState& state, const std::vector<std::string>& words,
                                  std::int64_t keep);
void give_up_checkpoint(const std::string& aside);

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

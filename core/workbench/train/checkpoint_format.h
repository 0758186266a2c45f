// What the reader and the writer of checkpoints have to agree on.
#pragma once

namespace switchyard::train {

// The version in state.json: of a checkpoint in one part and in several.
inline constexpr int format_of_one = 2, format_of_parts = 3;

// Names of tensors beside the entries in optimizer.safetensors.
inline constexpr const char* generator_name = "random.generator";
inline constexpr const char* precision_prefix = "precision.";
inline constexpr const char* master_prefix = "master.";

}  // namespace switchyard::train

// The files of a checkpoint's folder: one of each kind, or where ranks wrote it together one of each rank,
// named as Hugging Face names weights in several files, with an index.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace switchyard::train {

// What stands before ".safetensors" in names of files.
inline constexpr const char *weights_stem = "model", *average_stem = "average", *optimizer_stem = "optimizer";

// "model.safetensors" of one part, "model-00001-of-00002.safetensors" of several.
std::string part_file(std::string_view stem, std::int64_t index, std::int64_t count);
// "model.safetensors.index.json"
std::string index_file(std::string_view stem);

struct CheckpointFiles {
    std::int64_t parts = 1;  // that state.json names; 1: it names none, or cannot be read
    bool averaged = false;

    // What holds the weights of that stem, and with an index that as well.
    std::vector<std::string> of(std::string_view stem) const;
    // All but the checksums.
    std::vector<std::string> all() const;
};
CheckpointFiles files_of(const std::string& checkpoint);

}  // namespace switchyard::train

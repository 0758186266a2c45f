// Where weights lie: a safetensors file, several with an index, a folder of Hugging Face's with either, or a
// GGUF file.
// What else people give, and what to do with it.
//
// The index of weights in several files (huggingface_hub, "model.safetensors.index.json") is {"weight_map":
// {tensor: file beside the index}, "metadata": {"total_size": bytes}}; what else it says is not looked at.
//
// No LibTorch here.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/workbench/model/weights/safetensors_file.h"

namespace switchyard::model {

struct WeightsPlace {
    std::string file;                // the safetensors file, or the index
    std::vector<std::string> files;  // that hold the weights: `file`, or those of the index, sorted
    std::map<std::string, std::string> file_of;  // of an index: tensor -> path of its file
    std::optional<double> total_size;            // of an index: bytes of all tensors, where it says so
    std::string
        problem;        // "PATH: ...": there is none; empty: all files are there and may be what they should
    bool gguf = false;  // `file` is one of GGUF, else of safetensors
};

WeightsPlace find_weights(const std::string& path);

// How an index and its files differ.
struct IndexDifferences {
    std::vector<std::string> problems;  // "FILE: ..."; then nothing of it is read
    std::string note;                   // what need not be wrong; empty: nothing
};

// A tensor that the index puts into a file which does not have it is a problem, and so is a total size that
// no way of writing these tensors comes to.
//
// transformers and huggingface_hub write the sum of the tensors' bytes, each storage counted once
// (split_state_dict_into_shards_factory), and never read it. Checkpoints are about with tables that are tied
// counted as often as they are named (before transformers 4.30), with bools of an eighth of a byte, with the
// headers of the files (mlx-lm), or with the size that they had before somebody changed their number format
// or took tensors out. So sizes from 4 bits to 8 bytes a number are told alone, where they are not the
// tensors' own.
//
// `files`: all of the place, by path.
IndexDifferences index_differences(
    const WeightsPlace& place, const std::map<std::string, std::shared_ptr<const SafetensorsFile>>& files);

}  // namespace switchyard::model

// Where weights lie: a safetensors file, several with an index, a folder of Hugging Face's with either, or a
// GGUF file.
// What else people give, and what to do with it.
//
// The index of weights in several files (huggingface_hub, "model.safetensors.index.json") is {"weight_map":
// {tensor: file beside the index}}; what else it says is not looked at.
//
// No LibTorch here.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/workbench/model/weights/safetensors_file.h"

namespace switchyard::model {

struct WeightsPlace {
    std::string file;                // the safetensors file, or the index
    std::vector<std::string> files;  // that hold the weights: `file`, or those of the index, sorted
    std::map<std::string, std::string> file_of;  // of an index: tensor -> path of its file
    std::string
        problem;        // "PATH: ...": there is none; empty: all files are there and may be what they should
    bool gguf = false;  // `file` is one of GGUF, else of safetensors
};

WeightsPlace find_weights(const std::string& path);

// "FILE: ..." for each tensor that the index puts into a file which does not have it. `files`: all of the
// place, by path.
std::vector<std::string> missing_tensors(
    const WeightsPlace& place, const std::map<std::string, std::shared_ptr<const SafetensorsFile>>& files);

}  // namespace switchyard::model

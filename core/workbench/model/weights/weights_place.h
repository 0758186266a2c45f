// Where weights lie: a safetensors file, or a folder of Hugging Face's with one. What else people give, and
// what to do with it.
//
// No LibTorch here.
#pragma once

#include <string>

namespace switchyard::model {

struct WeightsPlace {
    std::string file;
    std::string problem;  // "PATH: ...": there is none; empty: `file` is there and may be a safetensors file
};

WeightsPlace find_weights(const std::string& path);

}  // namespace switchyard::model

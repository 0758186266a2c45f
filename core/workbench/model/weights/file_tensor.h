// One tensor of a file of weights, whatever its format, in the form that Hugging Face's files have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/gguf/gguf_file.h"
#include "core/workbench/model/weights/gguf_names.h"
#include "core/workbench/model/weights/safetensors_file.h"

namespace switchyard::model {

// A matrix of whole numbers as its file stores it: (values - zero_points) * scales, groups of 32 columns with
// a scale each.
struct StoredGroups {
    at::Tensor values;       // int8 [O, I]
    at::Tensor scales;       // float32 [O, I / 32]
    at::Tensor zero_points;  // the same, not always whole; undefined: zero
    int bits = 8;            // 8: values from -128 to 127; 4: from -8 to 7
};

struct FileTensor {
    std::string file;
    std::string name;         // in the file
    std::string huggingface;  // what Hugging Face's files call it, in whichever spelling
    std::vector<std::int64_t> shape;
    std::string problem;  // why there is no value: "has dtype I64; expected ..."
    // Keeps the file open. Of safetensors a view of the file, read-only by agreement; of GGUF float32,
    // made at each call.
    std::function<at::Tensor()> value;
    // Of matrices of GGUF's Q8_0, Q4_0 and Q4_1 that are stored [out, in]; empty for all others.
    std::function<StoredGroups()> groups{};
};

std::vector<FileTensor> file_tensors(const std::shared_ptr<const SafetensorsFile>& file);

// Without what is no parameter (rope_freqs.weight).
std::vector<FileTensor> file_tensors(const std::shared_ptr<const gguf::File>& file, GgufFamily family,
                                     const config::ModelConfig& model);

}  // namespace switchyard::model

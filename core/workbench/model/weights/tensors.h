// Between stored tensors and LibTorch's.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "core/workbench/model/weights/safetensors_file.h"
#include "core/workbench/model/weights/safetensors_writer.h"

namespace switchyard::model {

// A tensor over the file's mapping, which it keeps alive; read-only by agreement: copy before writing. Throws
// std::invalid_argument naming the tensor where LibTorch has no such dtype.
at::Tensor view_stored(const std::shared_ptr<const SafetensorsFile>& file, const StoredTensor& stored);

// "[2, 3]"
std::string shape_text(at::IntArrayRef shape);

struct NamedTensor {
    std::string name;
    at::Tensor tensor;  // any device and strides
};

// Copies what is not contiguous on the CPU, one tensor at a time only where needed.
base::FileError write_safetensors(const std::string& path, const std::vector<NamedTensor>& tensors,
                                  const std::map<std::string, std::string>& metadata);

}  // namespace switchyard::model

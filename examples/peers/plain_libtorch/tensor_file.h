// Safetensors files, whole: u64 little-endian length n; n bytes of JSON {name: {dtype, shape, data_offsets}};
// the data. Only what is exchanged with a comparison: int64 and float32.
#pragma once

#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace peer {

using Tensors = std::map<std::string, at::Tensor>;

// Both throw std::runtime_error naming the file.
Tensors read_tensors(const std::string& path);
void write_tensors(const std::string& path, const Tensors& tensors);  // as float32

}  // namespace peer

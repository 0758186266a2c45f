// How GGUF stores the numbers of a tensor: each row is a line of blocks of so many numbers and bytes (ggml:
// enum ggml_type of its GGUF specification; the layout of blocks: ggml-common.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace switchyard::gguf {

struct TensorType {
    std::uint32_t number;    // in the file
    std::string_view name;   // "Q4_K"
    std::uint32_t elements;  // of a block
    std::uint32_t bytes;     // of a block
    bool readable = false;   // dequantize() knows it
};

// nullptr: no type of the format has this number (some had one and were removed).
const TensorType* find_tensor_type(std::uint32_t number);

// "F32, F16, ...": the readable ones.
std::string readable_types();

}  // namespace switchyard::gguf

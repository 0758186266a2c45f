// The memory of a parameter, which can be let go and had again while the parameter stays the same leaf, with
// its sizes: as PyTorch's fully sharded data parallel does with its flat parameters.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace switchyard::model {

// Whoever reads the values has none then. Returns the bytes that were let go.
std::int64_t let_go(const at::Tensor& parameter);

// Has memory again, of any values; nothing happens where there is some. Of a parameter that lies end to end
// and shares its memory with no other.
void bring_back(const at::Tensor& parameter);

// Bytes of the memory that it has now.
std::int64_t held_bytes(const at::Tensor& parameter);

}  // namespace switchyard::model

// What holds between the arguments of an attention call, checked once for the reference and for whoever wants
// the same messages.
#pragma once

#include <cstdint>
#include <vector>

#include <switchyard/interfaces/attention.h>

namespace switchyard::reference {

// Throws std::invalid_argument that names the values: shapes and dtypes of q, k, v and of the biases, heads a
// multiple of kv heads, masks without their data, cu_seqlens. Reads small tensors (cu_seqlens, lengths) back
// to the CPU.
void check_attention(const AttentionInputs& inputs, const AttentionParams& params);

// cu_seqlens as numbers. Throws std::invalid_argument when it does not start at 0, decreases, or does not end
// at `total`.
std::vector<std::int64_t> sequence_offsets(const at::Tensor& cu_seqlens, const char* name,
                                           std::int64_t total);

}  // namespace switchyard::reference

// Embeddings of texts as a file for other programs: float32 [texts, hidden_size].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::cli {

// What the name of a file says it is to be.
enum class EmbeddingsFormat : std::uint8_t {
    npy,          // NumPy's format, version 1.0 (numpy.lib.format)
    safetensors,  // with one tensor, "embeddings"
};

// Throws Failure for a name that ends in neither .npy nor .safetensors.
EmbeddingsFormat embeddings_format(const std::string& path);

// Written as a whole or not at all; `values` has `rows` times `columns`. Throws Failure where it cannot be.
void write_embeddings(const std::string& path, const std::vector<float>& values, std::int64_t rows,
                      std::int64_t columns);

}  // namespace switchyard::cli

// Between the tensors of GGUF files and Hugging Face's (llama.cpp, gguf-py/gguf/tensor_mapping.py), and what
// converting changes of their values (convert_hf_to_gguf.py): Llama's q and k have the rows of each head in
// another order, for rotations of neighbours instead of halves; GPT-2's weights are [out, in].
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/kernel/config/model_config.h"

namespace switchyard::model {

// The families that are read: "llama", "gpt2".
enum class GgufFamily : std::uint8_t { llama, gpt2 };

// The name itself where it is none of the family.
std::string huggingface_name(GgufFamily family, std::string_view gguf);
std::string gguf_name(GgufFamily family, std::string_view huggingface);

// How a tensor of the file becomes Hugging Face's.
struct GgufForm {
    std::int64_t turned_heads = 0;  // rows of each of so many heads are paired by neighbours; 0: they are not
    bool transposed = false;
};
GgufForm form_of(GgufFamily family, std::string_view gguf, const config::ModelConfig& model);

}  // namespace switchyard::model

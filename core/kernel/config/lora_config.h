// [lora]: low-rank adapters beside the linear layers of a model that stays as it was (Hu et al. 2021,
// arXiv:2106.09685).
//
//     y = x weight^T + alpha / rank (x A^T) B^T        A [rank, in], B [out, rank]
//
// Trained are A and B of each target, and the parameters that `trained` names. Names and meanings are those
// of Hugging Face's PEFT (LoraConfig), whose files model/weights/adapter_files.h reads and writes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace switchyard::config {

struct LoraConfig {
    std::int64_t rank = 0;  // 0: no adapters
    double alpha = 16.0;
    std::vector<std::string> targets{"*.attention.q", "*.attention.v"};  // linear layers of the stacks
    // Whole, beside the adapters: PEFT's modules_to_save. Patterns of parameters; one of these that is
    // not there is not missed.
    std::vector<std::string> trained{"pooler.*", "classifier.*", "next_sentence.*"};
    std::string from;  // folder with an adapter to begin with; empty: A random, B zero
    bool operator==(const LoraConfig&) const = default;
};

}  // namespace switchyard::config

// adapter_config.json, which Hugging Face's PEFT writes beside an adapter (peft, tuners/lora/config.py). No
// LibTorch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/kernel/config/task_config.h"

namespace switchyard::model {

struct AdapterConfig {
    std::int64_t rank = 8;
    double alpha = 8.0;
    std::string base;                  // base_model_name_or_path
    bool transposed = false;           // fan_in_fan_out: weights of the base are [in, out]
    std::string task;                  // task_type: "SEQ_CLS", ...; empty: none is said
    std::vector<std::string> targets;  // modules, by their whole names or how these end
    std::vector<std::string> whole;    // modules_to_save
    // Modules with numbers of their own (rank_pattern, alpha_pattern), by their whole names or how these end;
    // "^" before a name: the whole one only. Of several alphas for a module the first counts, as in PEFT.
    std::map<std::string, std::int64_t> ranks;
    std::vector<std::pair<std::string, double>> alphas;

    bool operator==(const AdapterConfig&) const = default;

    // alpha / rank of a module whose adapter has that rank, which the first dimension of its lora_A is.
    double scale(const std::string& module, std::int64_t its_rank) const;
};

// Names of files in the folder of an adapter.
inline constexpr const char* adapter_config_file = "adapter_config.json";
inline constexpr const char* adapter_weights_file = "adapter_model.safetensors";

// Throws InputError for a folder without the file, what is no LoRA, and what we do not compute: DoRA, scaling
// by the root of the rank, trained biases.
AdapterConfig read_adapter_config(const std::string& folder);

std::string to_adapter_config(const AdapterConfig& adapter);

// PEFT's name of what a model is for; empty where it has none.
std::string task_type_of(config::TaskKind task);

}  // namespace switchyard::model
